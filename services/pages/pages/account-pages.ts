import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type {
  AccountAnswer,
  BegunSessionAnswer,
  SessionsAnswer,
  SignInAnswer,
} from '../../../contracts/account-answers.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AppsAnswer } from '../../../contracts/oauth.ts'
import type { OwnPaymentsAnswer, PaymentAnswer } from '../../../contracts/payment-answers.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import type { UsageAnswer } from '../../../contracts/usage.ts'
import { isSessionOver, type PageClient } from '../api-client.ts'
import { address } from '../components.ts'
import { EMPTY_FORM, textOf } from '../forms.ts'
import type { Html } from '../html.ts'
import { sendPage } from '../send-page.ts'
import { beginSession, endSession, requireOwnForm, sessionOf } from '../session.ts'
import {
  type AccountLook,
  accountPage,
  codePage,
  erasedPage,
  type SignInForm,
  signInPage,
} from './account-page.ts'
import { paymentPage } from './payment-page.ts'
import type { PagesOptions } from './series.ts'
import type { Webhooks } from './webhook-pages.ts'

export type Form = Readonly<Record<string, string | readonly string[] | undefined>>

/** The fields of a form. @throws ServiceError `cross_site` for one that is not this service's */
export function ownForm(request: FastifyRequest, publicUrl: string): Form {
  requireOwnForm(request, publicUrl)
  return typeof request.body === 'object' && request.body !== null ? (request.body as Form) : {}
}

const days = (milliseconds: number): number => milliseconds / DAY_MS

/** Asks to sign in, and says why where there was a session. */
export function sendSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { frame }: Pick<PagesOptions, 'frame'>,
  state: SignInForm = EMPTY_FORM,
): FastifyReply {
  const isOver = sessionOf(request) !== undefined
  if (isOver) endSession(reply)
  const notice = isOver
    ? `Your session has ended: you ended it, or it was ${days(LIMITS.sessionIdleMs)} days idle or ${days(LIMITS.sessionMs)} days old. Sign in again.`
    : undefined
  return sendPage(
    reply.code(state.refusal?.status ?? 200),
    frame(),
    signInPage({ ...state, notice }, frame()),
  )
}

/** Has a person whose session is over sign in, and then go on to the page that they wanted. @param about that page */
export function askToSignIn(app: FastifyInstance, options: Pick<PagesOptions, 'frame'>, about?: Html): void {
  app.setErrorHandler((error, request, reply) => {
    if (!isSessionOver(error)) throw error
    const typed = request.method === 'GET' ? { return_to: returnPath({ return_to: request.url }) } : {}
    return sendSignIn(request, reply, options, { typed, about })
  })
}

/** The page to return to after a sign-in: always a page of this service. */
function returnPath(form: Form): string | undefined {
  const path = textOf(form, 'return_to')
  return /^\/(?:oauth\/authorize\?|webhooks(?:[/?]|$))[!-~]*$/.test(path) &&
    path.length <= LIMITS.requestUrlCharacters
    ? path
    : undefined
}

/** Counted calls and payments of one page. */
const ROWS = 20

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
      return onward === undefined ? sendAccount(request, reply, query) : reply.redirect(onward, 303)
    }
    if (request.query.signed_in === undefined) return sendSignIn(request, reply, options)
    const notice =
      'You are signed in, but your browser did not keep the session: it keeps it over HTTPS, and at localhost, only.'
    return sendPage(reply, frame(), signInPage({ ...EMPTY_FORM, notice }, frame()))
  })

  paymentShown(app, options)
  signInForms(app, options)

  app.post('/account/sign-out', async (request, reply) => {
    formOf(request)
    const { sessions } = await client
      .must<SessionsAnswer>(request, { path: '/api/sessions' })
      // One that has ended needs no end.
      .catch((error: unknown) => {
        if (isSessionOver(error)) return { sessions: [] }
        throw error
      })
    const own = sessions.find((one) => one.is_own)
    if (own !== undefined) {
      await client.must(request, { method: 'DELETE', path: `/api/sessions/${own.session_id}` })
    }
    return endSession(reply).redirect('/', 303)
  })

  app.post('/account/keys', async (request, reply) => {
    const typed = { label: textOf(formOf(request), 'label') }
    const made = await client.ask<SignInAnswer>(request, { method: 'POST', path: '/api/keys', body: typed })
    const more = made.isOk ? { issued: made.body } : { state: { typed, refusal: made.refusal } }
    return sendAccount(request, reply, more)
  })

  /** A button that ends one thing, or, without an id, all sessions but the one that asks. */
  const ending = (path: 'keys' | 'sessions' | 'apps', verb: string) =>
    app.post(`/account/${path}/${verb}`, async (request, reply) => {
      const id = textOf(formOf(request), 'id')
      const rest = id === '' && path === 'sessions' ? '' : `/${encodeURIComponent(id)}`
      const gone = await client.ask(request, { method: 'DELETE', path: `/api/${path}${rest}` })
      if (gone.isOk) return reply.redirect(`/account#${path}`, 303)
      return sendAccount(request, reply, { state: { typed: {}, refusal: gone.refusal } })
    })
  ending('keys', 'revoke')
  ending('sessions', 'end')
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

/** One payment, as a page; open to the holder of its id, as its answer is. */
const paymentShown = (app: FastifyInstance, { client, frame }: PagesOptions): void =>
  void app.get<{ Params: { id: string } }>('/account/payments/:id', async (request, reply) => {
    const path = `/x402/payments/${encodeURIComponent(request.params.id)}`
    return sendPage(reply, frame(), paymentPage(await client.must<PaymentAnswer>(request, { path })))
  })

/** Sends the page of the account that is signed in. */
function accountSender(app: FastifyInstance, { client, frame }: PagesOptions) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    more: Partial<Pick<AccountLook, 'after' | 'paid' | 'state' | 'issued'>> = {},
  ): Promise<FastifyReply> => {
    const { state = EMPTY_FORM, issued, after, paid } = more
    const ask = <Body>(path: string) => client.must<Body>(request, { path })
    const has = (url: string): boolean => app.hasRoute({ method: 'GET', url })
    const [account, usage, { apps }, { sessions }, payments, webhooks] = await Promise.all([
      ask<AccountAnswer>('/api/account'),
      ask<UsageAnswer>(address('/api/usage', { after, limit: ROWS })),
      ask<AppsAnswer>('/api/apps'),
      ask<SessionsAnswer>('/api/sessions'),
      has('/api/payments')
        ? ask<OwnPaymentsAnswer>(address('/api/payments', { after: paid, limit: ROWS }))
        : undefined,
      has('/api/webhooks')
        ? ask<Webhooks>(address('/api/webhooks', { status: 'all', limit: ROWS }))
        : undefined,
    ])
    const look = { account, usage, payments, webhooks, apps, sessions, issued, state, after, paid }
    return sendPage(reply.code(state.refusal?.status ?? 200), frame(), accountPage(look))
  }
}

/** The two steps of a sign-in: an address, then the code that was sent there. */
function signInForms(app: FastifyInstance, options: PagesOptions): void {
  const { client, frame } = options
  app.post('/account/sign-in', async (request, reply) => {
    const form = ownForm(request, frame().publicUrl)
    const email = textOf(form, 'email').trim()
    const typed = { email, return_to: returnPath(form) }
    const asked = await askFor<{ sign_in_id: string }>(client, request, '/api/sign-in', { email })
    if (!asked.isOk) return sendSignIn(request, reply, options, { typed, refusal: asked.refusal })
    const signInId = asked.body.sign_in_id
    return sendPage(reply, frame(), codePage({ typed, email, signInId }, frame()))
  })

  app.post('/account/confirm', async (request, reply) => {
    const form = ownForm(request, frame().publicUrl)
    const given = (name: string) => textOf(form, name).trim()
    const [email, code, signInId] = [given('email'), given('code'), given('sign_in_id')]
    const body = { email, code, ...(signInId !== '' && { sign_in_id: signInId }) }
    const returning = returnPath(form)
    const confirmed = await askFor<BegunSessionAnswer>(client, request, '/api/sign-in/session', body)
    if (confirmed.isOk) {
      const onward = address('/account', { signed_in: 1, return_to: returning })
      return beginSession(reply, confirmed.body.session).redirect(onward, 303)
    }
    const { refusal } = confirmed
    const typed = { code, return_to: returning }
    return sendPage(
      reply.code(refusal.status),
      frame(),
      codePage({ typed, refusal, email, signInId }, frame()),
    )
  })
}

const askFor = <Body>(client: PageClient, request: FastifyRequest, path: string, body: JsonObject) =>
  client.ask<Body>(request, { method: 'POST', path, body })
