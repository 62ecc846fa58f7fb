import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { formatUsdc } from '../../../contracts/chain.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { isByOwnersDoor, isOperatorToken } from '../../http/operator.ts'
import { toPaymentAnswer } from '../../http/payment-answers.ts'
import type { Readiness } from '../../http/readiness.ts'
import { toOperatorSubscription } from '../../http/webhook-answers.ts'
import type { PaymentAdmin } from '../../payments/index.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Subscriptions } from '../../webhooks/index.ts'
import { EMPTY_FORM, type FormState, textOf } from '../pages/forms.ts'
import { operatorPage, operatorSignInPage } from '../pages/operator-page.ts'
import { sendPage } from '../pages/send-page.ts'
import { cookieOf, setCookie } from '../pages/session.ts'
import { ownForm } from './account-pages.ts'
import type { PagesOptions } from './series-pages.ts'

/** Payments, and their sums where they are kept. */
export type OperatorPagesAdmin = Pick<PaymentAdmin, 'list'> & Partial<Pick<PaymentAdmin, 'totals'>>

export interface OperatorPagesOptions extends Pick<PagesOptions, 'frame'>, Pick<Clock, 'now'> {
  readonly operatorToken: string | undefined
  readonly readiness: () => Promise<Readiness>
  readonly paymentAdmin?: OperatorPagesAdmin | undefined
  readonly subscriptions?: Pick<Subscriptions, 'listAll'> | undefined
}

const COOKIE = '__Host-operator'
const SESSION_S = 8 * 3_600
const ROWS = 50

/** `/operator`: how the service is doing, to who has its token or comes by the owner's socket. */
export const operatorPages: FastifyPluginAsyncZod<OperatorPagesOptions> = async (app, options) => {
  const { operatorToken: token, frame, now } = options

  /** The end of a session, signed with the token: the token itself is in no cookie. */
  const signed = (until: string): string =>
    `${until}.${createHmac('sha256', token ?? '')
      .update(`operator session until ${until}`)
      .digest('hex')}`
  const isSignedIn = (request: FastifyRequest): boolean => {
    const given = cookieOf(request.headers.cookie, COOKIE)
    const [until = ''] = (given ?? '').split('.')
    if (token === undefined || given === undefined || !(Number(until) > now())) return false
    const [a, b] = [Buffer.from(given), Buffer.from(signed(until))]
    return a.length === b.length && timingSafeEqual(a, b)
  }
  const ask = (reply: FastifyReply, state: FormState = EMPTY_FORM) =>
    sendPage(
      reply.code(state.refusal?.status ?? 200),
      frame(),
      operatorSignInPage(state, token !== undefined),
    )

  app.get('/operator', async (request, reply) => {
    if (!isByOwnersDoor(request) && !isSignedIn(request)) return ask(reply)
    const [readiness, payments, subscriptions] = await Promise.all([
      options.readiness(),
      options.paymentAdmin?.list({ limit: ROWS }),
      options.subscriptions?.listAll({ limit: LIMITS.webhookRows }),
    ])
    const endpoints = subscriptions?.map(toOperatorSubscription)
    const totals = options.paymentAdmin?.totals?.()
    const look = {
      readiness,
      money: totals && {
        claims: totals.claims,
        by_state: totals.byState,
        open: totals.open,
        unsettled_usdc: formatUsdc(totals.unsettled),
        debt_usdc: formatUsdc(totals.debt),
      },
      payments: payments?.map(toPaymentAnswer),
      reviewed: endpoints?.filter(({ state }) => ['degraded', 'disabled', 'stopped'].includes(state)),
      looked: endpoints?.length ?? 0,
    }
    return sendPage(reply, frame(), operatorPage(look))
  })

  app.post('/operator', async (request, reply) => {
    const given = textOf(ownForm(request, frame().publicUrl), 'token').trim()
    if (!isOperatorToken(given, token)) {
      const refusal = {
        status: 401,
        code: 'unauthorized',
        message: 'This is not the token of the operator.',
        next_step: 'It is what OPERATOR_TOKEN was set to when the service was started.',
        details: { fields: [{ field: 'token', problem: 'is not the token' }] },
      }
      return ask(reply, { typed: {}, refusal })
    }
    setCookie(reply, COOKIE, signed(String(now() + 1_000 * SESSION_S)), SESSION_S)
    return reply.redirect('/operator', 303)
  })
}
