import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AccountAnswer, SignInAnswer, UsageAnswer } from '../../../contracts/answers/account.ts'
import type { OwnPaymentsAnswer, PaymentAnswer } from '../../../contracts/answers/payment.ts'
import type { AppsAnswer } from '../../../contracts/domain/oauth.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PageRequest } from '../api-client.ts'
import { address } from '../components.ts'
import { EMPTY_FORM, type Refusal, type Typed, textOf } from '../forms.ts'
import { sendPage } from '../layout.ts'
import { endSession, leaveNote, noteOf, ownForm, removeNote, sessionOf } from '../session.ts'
import { type AccountView, accountPage, erasedPage, paymentPage } from './account-page.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn, returnPath, sendSignIn, signInForms } from './sign-in.ts'
import type { Webhooks } from './webhooks.ts'

/** Counted calls and payments of one page. */
const ROWS = 20
/** A new key, shown once. */
const keyNote = z.object({ key: z.string(), label: z.string() })

const querySchema = z.object({
  after: z.string().max(256).optional(),
  paid: z.string().max(64).optional(),
  signed_in: z.string().max(1).optional(),
  return_to: z.string().max(LIMITS.requestUrlCharacters).optional(),
})

const NOT_ERASED: Refusal = {
  status: 400,
  code: 'invalid_request',
  message: 'Nothing was erased.',
  next_step: 'Type ERASE, in capitals, if you mean it.',
  details: { fields: [{ field: 'confirm', problem: 'is not the word ERASE' }] },
}

const NOT_KEPT =
  'You are signed in, but your browser did not keep the session: it keeps it over HTTPS, and at localhost, only.'

/** `/account`: sign-in by a code, and the account of a session: plan, keys, usage, payments, and how to erase it. */
export const accountPages: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  const { client, frame } = options
  askToSignIn(app, options)
  signInForms(app, options)

  const sendAccount = createAccountSender(app, options)

  app.get('/account', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { return_to, signed_in, ...query } = request.query
    if (sessionOf(request) === undefined) {
      const notice = signed_in === undefined ? undefined : NOT_KEPT
      return sendSignIn(request, reply, options, { ...EMPTY_FORM, notice })
    }
    const onward = returnPath({ return_to })
    if (onward !== undefined) return reply.redirect(onward, 303)
    const issued = noteOf(request, keyNote)
    if (issued !== undefined) removeNote(reply)
    return sendAccount(request, reply, { ...query, issued })
  })

  app.get<{ Params: { id: string } }>('/account/payments/:id', async (request, reply) => {
    const path = `/x402/payments/${encodeURIComponent(request.params.id)}`
    return sendPage(reply, frame(), paymentPage(await client.must<PaymentAnswer>(request, { path })))
  })

  app.post('/account/sign-out', async (request, reply) => {
    ownForm(request, frame().publicUrl)
    return endSession(reply).redirect('/', 303)
  })

  /** A form of the account. @param ask makes its request of the interface, or refuses it */
  const form = (
    path: string,
    ask: (form: Typed) => PageRequest | Refusal,
    done: (reply: FastifyReply, body: never) => FastifyReply,
  ) =>
    app.post(`/account/${path}`, async (request, reply) => {
      const typed = ownForm(request, frame().publicUrl)
      const asked = ask(typed)
      const answer =
        'code' in asked ? ({ isOk: false, refusal: asked } as const) : await client.ask<never>(request, asked)
      if (answer.isOk) return done(reply, answer.body)
      return sendAccount(request, reply, { state: { typed, refusal: answer.refusal } })
    })
  const remove = (path: string): PageRequest => ({ method: 'DELETE', path })

  form(
    'sessions/end',
    () => remove('/api/sessions'),
    (reply) => endSession(reply).redirect('/', 303),
  )
  form(
    'keys',
    (typed) => ({ method: 'POST', path: '/api/keys', body: { label: textOf(typed, 'label') } }),
    (reply, { key, label }: SignInAnswer) => leaveNote(reply, { key, label }).redirect('/account', 303),
  )
  for (const [path, part] of [
    ['keys/revoke', 'keys'],
    ['apps/end', 'apps'],
  ] as const)
    form(
      path,
      (typed) => remove(`/api/${part}/${encodeURIComponent(textOf(typed, 'id'))}`),
      (reply) => reply.redirect(`/account#${part}`, 303),
    )
  form(
    'erase',
    (typed) => (textOf(typed, 'confirm').trim() === 'ERASE' ? remove('/api/account') : NOT_ERASED),
    (reply) => sendPage(endSession(reply), frame(), erasedPage),
  )
}

/** Sends the page of the account that is signed in. */
function createAccountSender(app: FastifyInstance, { client, frame }: PagesOptions) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    { state = EMPTY_FORM, ...shown }: Partial<AccountView>,
  ): Promise<FastifyReply> => {
    const { after, paid } = shown
    const ask = <Body>(path: string) => client.must<Body>(request, { path })
    const has = (url: string): boolean => app.hasRoute({ method: 'GET', url })
    const [account, usage, { apps }, payments, webhooks] = await Promise.all([
      ask<AccountAnswer>('/api/account'),
      ask<UsageAnswer>(address('/api/usage', { after, limit: ROWS })),
      ask<AppsAnswer>('/api/apps'),
      has('/api/payments')
        ? ask<OwnPaymentsAnswer>(address('/api/payments', { after: paid, limit: ROWS }))
        : undefined,
      has('/api/webhooks') ? ask<Webhooks>(`/api/webhooks?status=all&limit=${ROWS}`) : undefined,
    ])
    const page = accountPage({ account, usage, payments, webhooks, apps, state, ...shown })
    return sendPage(reply.code(state.refusal?.status ?? 200), frame(), page)
  }
}
