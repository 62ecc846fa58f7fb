import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AccountAnswer, SignInAnswer, UsageAnswer } from '../../../contracts/answers/account.ts'
import type { OwnPaymentsAnswer } from '../../../contracts/answers/payment.ts'
import type { AppsAnswer } from '../../../contracts/domain/oauth.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { address } from '../components.ts'
import { EMPTY_FORM, textOf } from '../forms.ts'
import { sendPage } from '../send-page.ts'
import { endSession, leaveNote, noteOf, removeNote, sessionOf } from '../session.ts'
import { type AccountView, accountPage, erasedPage } from './account-page.ts'
import { showPayments } from './payment.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn, ownForm, returnPath, sendSignIn, signInForms } from './sign-in.ts'
import type { Webhooks } from './webhooks.ts'

/** Counted calls and payments of one page. */
const ROWS = 20
/** A key that was made, shown once. */
const keyNote = z.object({ key: z.string(), label: z.string() })

const querySchema = z.object({
  after: z.string().max(256).optional(),
  paid: z.string().max(64).optional(),
  signed_in: z.string().max(1).optional(),
  return_to: z.string().max(LIMITS.requestUrlCharacters).optional(),
})

/** `/account`: sign-in by a code, and the account of a session: plan, keys, usage, payments, the end of it all. */
export const accountPages: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  const { client, frame } = options
  const formOf = (request: FastifyRequest) => ownForm(request, frame().publicUrl)
  askToSignIn(app, options)

  const sendAccount = accountSender(app, options)

  app.get('/account', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { return_to: wanted, ...query } = request.query
    const onward = wanted === undefined ? undefined : returnPath({ return_to: wanted })
    if (sessionOf(request) !== undefined) {
      if (onward !== undefined) return reply.redirect(onward, 303)
      const issued = noteOf(request, keyNote)
      if (issued !== undefined) removeNote(reply)
      return sendAccount(request, reply, { ...query, issued })
    }
    if (request.query.signed_in === undefined) return sendSignIn(request, reply, options)
    const notice =
      'You are signed in, but your browser did not keep the session: it keeps it over HTTPS, and at localhost, only.'
    return sendSignIn(request, reply, options, { ...EMPTY_FORM, notice })
  })

  showPayments(app, options)
  signInForms(app, options)

  app.post('/account/sign-out', async (request, reply) => {
    formOf(request)
    return endSession(reply).redirect('/', 303)
  })

  app.post('/account/sessions/end', async (request, reply) => {
    formOf(request)
    const ended = await client.ask(request, { method: 'DELETE', path: '/api/sessions' })
    if (ended.isOk) return endSession(reply).redirect('/', 303)
    return sendAccount(request, reply, { state: { typed: {}, refusal: ended.refusal } })
  })

  app.post('/account/keys', async (request, reply) => {
    const typed = { label: textOf(formOf(request), 'label') }
    const made = await client.ask<SignInAnswer>(request, { method: 'POST', path: '/api/keys', body: typed })
    if (!made.isOk) return sendAccount(request, reply, { state: { typed, refusal: made.refusal } })
    const { key, label } = made.body
    return leaveNote(reply, { key, label }).redirect('/account', 303)
  })

  /** A button that ends one thing. */
  const ending = (path: 'keys' | 'apps', verb: string) =>
    app.post(`/account/${path}/${verb}`, async (request, reply) => {
      const id = textOf(formOf(request), 'id')
      const gone = await client.ask(request, {
        method: 'DELETE',
        path: `/api/${path}/${encodeURIComponent(id)}`,
      })
      if (gone.isOk) return reply.redirect(`/account#${path}`, 303)
      return sendAccount(request, reply, { state: { typed: {}, refusal: gone.refusal } })
    })
  ending('keys', 'revoke')
  ending('apps', 'end')

  app.post('/account/erase', async (request, reply) => {
    const typed = textOf(formOf(request), 'confirm').trim()
    if (typed !== 'ERASE') {
      const refusal = {
        status: 400,
        code: 'invalid_request',
        message: 'Nothing was erased.',
        next_step: 'Type ERASE, in capitals, if you mean it.',
        details: { fields: [{ field: 'confirm', problem: 'is not the word ERASE' }] },
      }
      return sendAccount(request, reply, { state: { typed: { confirm: typed }, refusal } })
    }
    const gone = await client.ask(request, { method: 'DELETE', path: '/api/account' })
    if (!gone.isOk) return sendAccount(request, reply, { state: { typed: {}, refusal: gone.refusal } })
    return sendPage(endSession(reply), frame(), erasedPage)
  })
}

/** Sends the page of the account that is signed in. */
function accountSender(app: FastifyInstance, { client, frame }: PagesOptions) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    more: Partial<Pick<AccountView, 'after' | 'paid' | 'state' | 'issued'>> = {},
  ): Promise<FastifyReply> => {
    const { state = EMPTY_FORM, issued, after, paid } = more
    const ask = <Body>(path: string) => client.must<Body>(request, { path })
    const has = (url: string): boolean => app.hasRoute({ method: 'GET', url })
    const [account, usage, { apps }, payments, webhooks] = await Promise.all([
      ask<AccountAnswer>('/api/account'),
      ask<UsageAnswer>(address('/api/usage', { after, limit: ROWS })),
      ask<AppsAnswer>('/api/apps'),
      has('/api/payments')
        ? ask<OwnPaymentsAnswer>(address('/api/payments', { after: paid, limit: ROWS }))
        : undefined,
      has('/api/webhooks')
        ? ask<Webhooks>(address('/api/webhooks', { status: 'all', limit: ROWS }))
        : undefined,
    ])
    const shown = { account, usage, payments, webhooks, apps, issued, state, after, paid }
    return sendPage(reply.code(state.refusal?.status ?? 200), frame(), accountPage(shown))
  }
}
