import type { FastifyReply, FastifyRequest } from 'fastify'
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
import type { AppsAnswer, MachineAnswer } from '../../../contracts/oauth.ts'
import type { OwnPaymentsAnswer } from '../../../contracts/payment-answers.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import type { UsageAnswer } from '../../../contracts/usage.ts'
import { accountPage, codePage, erasedPage, signInPage } from '../pages/account-page.ts'
import { EMPTY_FORM, type FormState } from '../pages/forms.ts'
import { type Refusal, refusedAs } from '../pages/own-client.ts'
import { address } from '../pages/parts.ts'
import { sendPage } from '../pages/send-page.ts'
import { beginSession, endSession, requireOwnForm, sessionOf } from '../pages/session.ts'
import type { PagesOptions } from './series-pages.ts'

export type Form = Readonly<Record<string, string | readonly string[] | undefined>>

/** The value of a form field; the first where there are several. */
export const textOf = (form: Form, name: string): string => {
  const value = form[name]
  return typeof value === 'string' ? value : (value?.[0] ?? '')
}

/** The fields of a form. @throws ServiceError `cross_site` for one that is not this service's */
export function ownForm(request: FastifyRequest, publicUrl: string): Form {
  requireOwnForm(request, publicUrl)
  return typeof request.body === 'object' && request.body !== null ? (request.body as Form) : {}
}

/** The refusals that mean that nobody is signed in any more. */
export const isSessionOver = ({ code }: Refusal): boolean => ['unauthorized', 'key_unknown'].includes(code)

const days = (milliseconds: number): number => milliseconds / DAY_MS

/** Asks to sign in, and says why where there was a session. */
export function sendSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { frame }: Pick<PagesOptions, 'frame'>,
  state: FormState = EMPTY_FORM,
): FastifyReply {
  const isOver = sessionOf(request) !== undefined
  if (isOver) endSession(reply)
  const notice = isOver
    ? `Your session has ended: you ended it, or it was ${days(LIMITS.sessionIdleMs)} days idle or ${days(LIMITS.sessionMs)} days old. Sign in again.`
    : undefined
  return sendPage(reply.code(state.refusal?.status ?? 200), frame(), signInPage(state, notice))
}

/** The page to return to after a sign-in: always a page of this service. */
function returnPath(form: Form): string | undefined {
  const path = textOf(form, 'return_to')
  return /^\/oauth\/authorize\?[!-~]*$/.test(path) && path.length <= LIMITS.requestUrlCharacters
    ? path
    : undefined
}

/** Counted calls and payments of one page. */
const ROWS = 20

const querySchema = z.strictObject({
  after: z.string().max(256).optional(),
  paid: z.string().max(64).optional(),
  signed_in: z.string().max(1).optional(),
})

/** `/account`: sign-in by a code, and the account of a session: plan, keys, usage, payments, the end of it all. */
export const accountPages: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  const { client, frame } = options
  const formOf = (request: FastifyRequest) => ownForm(request, frame().publicUrl)

  async function sendAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    more: {
      readonly after?: string | undefined
      readonly paid?: string | undefined
      readonly state?: FormState
      readonly issued?: SignInAnswer
      readonly machine?: MachineAnswer
    } = {},
  ): Promise<FastifyReply> {
    const isSold = app.hasRoute({ method: 'GET', url: '/api/payments' })
    const [account, usage, apps, sessions, payments] = await Promise.all([
      client.ask<AccountAnswer>(request, { path: '/api/account' }),
      client.ask<UsageAnswer>(request, { path: address('/api/usage', { after: more.after, limit: ROWS }) }),
      client.ask<AppsAnswer>(request, { path: '/api/apps' }),
      client.ask<SessionsAnswer>(request, { path: '/api/sessions' }),
      isSold
        ? client.ask<OwnPaymentsAnswer>(request, {
            path: address('/api/payments', { after: more.paid, limit: ROWS }),
          })
        : undefined,
    ])
    if (!account.isOk) {
      if (isSessionOver(account.refusal)) return sendSignIn(request, reply, options)
      throw refusedAs(account.refusal)
    }
    if (!usage.isOk) throw refusedAs(usage.refusal)
    if (!apps.isOk) throw refusedAs(apps.refusal)
    if (!sessions.isOk) throw refusedAs(sessions.refusal)
    if (payments?.isOk === false) throw refusedAs(payments.refusal)
    const { state = EMPTY_FORM, issued, machine, after, paid } = more
    const look = {
      account: account.body,
      usage: usage.body,
      payments: payments?.body,
      apps: apps.body.apps,
      machine,
      sessions: sessions.body.sessions,
      issued: issued && { key: issued.key, label: issued.label },
      state,
      after,
      paid,
    }
    return sendPage(reply.code(state.refusal?.status ?? 200), frame(), accountPage(look))
  }

  app.get('/account', { schema: { querystring: querySchema } }, async (request, reply) => {
    if (sessionOf(request) !== undefined) return sendAccount(request, reply, request.query)
    if (request.query.signed_in === undefined) return sendSignIn(request, reply, options)
    const notice =
      'You are signed in, but your browser did not keep the session: it keeps it over HTTPS, and at localhost, only.'
    return sendPage(reply, frame(), signInPage(EMPTY_FORM, notice))
  })

  app.post('/account/sign-in', async (request, reply) => {
    const form = formOf(request)
    const email = textOf(form, 'email').trim()
    const returning = { return_to: returnPath(form) }
    const asked = await client.ask<{ sign_in_id: string }>(request, {
      method: 'POST',
      path: '/api/sign-in',
      body: { email },
    })
    if (!asked.isOk) {
      const { refusal } = asked
      return sendSignIn(request, reply, options, { typed: { email, ...returning }, refusal })
    }
    return sendPage(reply, frame(), codePage({ typed: returning, email, signInId: asked.body.sign_in_id }))
  })

  app.post('/account/confirm', async (request, reply) => {
    const form = formOf(request)
    const [email, code, signInId] = ['email', 'code', 'sign_in_id'].map((name) =>
      textOf(form, name).trim(),
    ) as [string, string, string]
    const body: JsonObject = { email, code, ...(signInId !== '' && { sign_in_id: signInId }) }
    const confirmed = await client.ask<BegunSessionAnswer>(request, {
      method: 'POST',
      path: '/api/sign-in/session',
      body,
    })
    if (!confirmed.isOk) {
      const { refusal } = confirmed
      return sendPage(
        reply.code(refusal.status),
        frame(),
        codePage({ typed: { code, return_to: returnPath(form) }, refusal, email, signInId }),
      )
    }
    return beginSession(reply, confirmed.body.session).redirect(
      returnPath(form) ?? '/account?signed_in=1',
      303,
    )
  })

  app.post('/account/sign-out', async (request, reply) => {
    formOf(request)
    const list = await client.ask<SessionsAnswer>(request, { path: '/api/sessions' })
    // One that has ended needs no end.
    if (!list.isOk && !isSessionOver(list.refusal)) throw refusedAs(list.refusal)
    const own = list.isOk ? list.body.sessions.find((one) => one.is_own) : undefined
    if (own !== undefined) {
      await client.must(request, { method: 'DELETE', path: `/api/sessions/${own.session_id}` })
    }
    return endSession(reply).redirect('/', 303)
  })

  app.post('/account/keys', async (request, reply) => {
    const label = textOf(formOf(request), 'label')
    const issued = await client.ask<SignInAnswer>(request, {
      method: 'POST',
      path: '/api/keys',
      body: { label },
    })
    if (issued.isOk) return sendAccount(request, reply, { issued: issued.body })
    return sendAccount(request, reply, { state: { typed: { label }, refusal: issued.refusal } })
  })

  app.post('/account/keys/revoke', async (request, reply) => {
    const id = textOf(formOf(request), 'id')
    const gone = await client.ask(request, { method: 'DELETE', path: `/api/keys/${encodeURIComponent(id)}` })
    if (gone.isOk) return reply.redirect('/account#keys', 303)
    return sendAccount(request, reply, { state: { typed: {}, refusal: gone.refusal } })
  })

  app.post('/account/sessions/end', async (request, reply) => {
    // Without an id: all but this one.
    const id = textOf(formOf(request), 'id')
    const path = id === '' ? '/api/sessions' : `/api/sessions/${encodeURIComponent(id)}`
    const gone = await client.ask(request, { method: 'DELETE', path })
    if (gone.isOk) return reply.redirect('/account#sessions', 303)
    return sendAccount(request, reply, { state: { typed: {}, refusal: gone.refusal } })
  })

  app.post('/account/apps', async (request, reply) => {
    const name = textOf(formOf(request), 'name')
    const body = { name, scopes: ['calls'] }
    const made = await client.ask<MachineAnswer>(request, { method: 'POST', path: '/api/apps', body })
    if (made.isOk) return sendAccount(request, reply, { machine: made.body })
    return sendAccount(request, reply, { state: { typed: { name }, refusal: made.refusal } })
  })

  app.post('/account/apps/end', async (request, reply) => {
    const id = textOf(formOf(request), 'id')
    const gone = await client.ask(request, { method: 'DELETE', path: `/api/apps/${encodeURIComponent(id)}` })
    if (gone.isOk) return reply.redirect('/account#apps', 303)
    return sendAccount(request, reply, { state: { typed: {}, refusal: gone.refusal } })
  })

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
