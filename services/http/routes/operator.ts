import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import * as answers from '../../../contracts/answers/account.ts'
import { exactInstantParameter, rowsParameter } from '../../../contracts/answers/parameters.ts'
import { paymentAnswerSchema, paymentsAnswerSchema } from '../../../contracts/answers/payment.ts'
import { PAYMENT_STATES } from '../../../contracts/answers/service-block.ts'
import {
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../../contracts/answers/webhook.ts'
import { addressSchema, bytes32Schema, parseUsdc, USDC_TEXT } from '../../../contracts/domain/chain.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { tierSchema } from '../../../contracts/domain/plans.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import type { Json } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Accounts } from '../../accounts/index.ts'
import type { PaymentAdmin } from '../../payments/index.ts'
import type { Subscriptions } from '../../webhooks/index.ts'
import { routesFor } from '../add-routes.ts'
import { operatorOrigin, useOperatorOnly } from '../operator.ts'
import { toOperatorSubscription } from '../webhook-service.ts'
import { accountAnswer, labelSchema, toKeyRow, toSignInAnswer } from './accounts.ts'
import { toPaymentAnswer } from './payment-answer.ts'

type AccountOptions = Parameters<typeof accountAnswer>[0]

/** Parts that are left out are not served. */
export interface OperatorRoutesOptions {
  /**
   * Answers a tool call of any caller.
   *
   * @throws ServiceError for an unknown tool, a request that is not valid, and every refusal of the tool.
   */
  readonly answerTool: (tool: string, request: unknown) => Promise<Json>
  readonly operatorToken: string | undefined
  readonly accounts?: AccountOptions | undefined
  readonly payments?: { readonly paymentAdmin: Pick<PaymentAdmin, 'list' | 'show' | 'refund'> } | undefined
  readonly webhooks?: { readonly subscriptions: Subscriptions } | undefined
}

const uuid = z.uuid().toLowerCase()
const params = z.strictObject({ id: uuid })
/** A page of a list, after the id of a row. */
const pageOf = (most: number) => ({ after: uuid.optional(), limit: rowsParameter(most) })
/** The id of a page's last row, if another page may follow. */
const nextOf = (rows: readonly { readonly id: string }[], limit: number): string | null =>
  rows.length < limit ? null : (rows.at(-1)?.id ?? null)

const routes = (app: FastifyInstance) => routesFor(app, operatorOrigin)
type On = ReturnType<typeof routes>

/** Everything of the operator, under `/operator`: by the owner's socket or with the operator's token. */
export const operatorPlugin: FastifyPluginAsync<OperatorRoutesOptions> = async (app, options) => {
  const { accounts, payments, webhooks, answerTool } = options
  useOperatorOnly(app, options.operatorToken)
  const on = routes(app)
  // A tool's answer, neither metered nor paid for.
  app.post<{ Params: { tool: string } }>('/operator/tools/:tool', async (request) =>
    answerTool(request.params.tool.slice(0, 64), request.body ?? {}),
  )
  if (accounts !== undefined) {
    keyRoutes(on, accounts.accounts)
    accountRoutes(on, accounts)
  }
  if (payments !== undefined) paymentRoutes(on, payments.paymentAdmin)
  if (webhooks !== undefined) webhookRoutes(on, webhooks.subscriptions)
}

function keyRoutes(on: On, accounts: Accounts): void {
  const created = z.strictObject({
    email: z.string().max(LIMITS.emailCharacters).optional(),
    account_id: uuid.optional(),
    tier: tierSchema.optional(),
    label: labelSchema.default('operator'),
  })
  on('POST /operator/keys', {
    body: created,
    response: { 201: answers.signInAnswerSchema },
    handle: async (origin, { email, account_id: accountId, tier, label }) =>
      toSignInAnswer(await accounts.createKey({ email, accountId }, { label, tier }, origin)),
  })
  on('GET /operator/keys', {
    querystring: z.strictObject({ account_id: uuid }),
    response: { 200: answers.keysAnswerSchema },
    handle: async (_origin, { account_id: id }) => ({ keys: (await accounts.show(id)).keys.map(toKeyRow) }),
  })
  on('DELETE /operator/keys/:id', {
    params,
    handle: async (origin, { id }) => accounts.revokeKey(await accounts.accountOfKey(id), id, origin),
  })
  on('POST /operator/keys/revoke', {
    body: z.strictObject({ issued_before: exactInstantParameter, after: uuid.optional() }),
    response: { 200: answers.endedAnswerSchema },
    handle: async (origin, { issued_before: before, after }) => {
      const ended = await accounts.endBefore(Date.parse(before), after, origin)
      return { ...ended, next: ended.next ?? null }
    },
  })
}

function accountRoutes(on: On, options: AccountOptions): void {
  const { accounts } = options
  const one = { params, response: { 200: answers.accountAnswerSchema } }
  on('GET /operator/accounts', {
    querystring: z.strictObject(pageOf(LIMITS.accountRows)),
    response: { 200: answers.accountsAnswerSchema },
    handle: async (_origin, query) => {
      const ids = await accounts.list(query)
      const rows = await Promise.all(ids.map((id) => accounts.show(id).catch(passErased)))
      const shown = rows
        .flatMap((row) => row ?? [])
        .map((row) => ({
          account_id: row.accountId,
          email: row.email,
          tier: row.tier,
          opened_at: isoTime(row.openedAt),
          keys: row.keys.length,
        }))
      return { accounts: shown, next: ids.length < query.limit ? null : (ids.at(-1) ?? null) }
    },
  })
  on('GET /operator/accounts/:id', { ...one, handle: (_origin, { id }) => accountAnswer(options, id) })
  on('POST /operator/accounts/:id/grant', {
    ...one,
    body: z.strictObject({ tier: tierSchema }),
    handle: async (origin, { id, tier }) => {
      await accounts.startPlan(id, { tier, source: 'operator' }, origin)
      return accountAnswer(options, id)
    },
  })
  on('DELETE /operator/accounts/:id', { params, handle: (origin, { id }) => accounts.erase(id, origin) })
}

/** Undefined for an account that was erased since it was listed. */
function passErased(error: unknown): undefined {
  if (!isServiceError(error, 'account_unknown')) throw error
}

function paymentRoutes(on: On, admin: Pick<PaymentAdmin, 'list' | 'show' | 'refund'>): void {
  const one = { params, response: { 200: paymentAnswerSchema } }
  const filter = z.strictObject({
    state: z.enum(PAYMENT_STATES).optional(),
    payer: addressSchema.optional(),
    ...pageOf(LIMITS.paymentRows),
  })
  const refund = z.strictObject({
    transaction: bytes32Schema,
    usdc: z
      .string()
      .regex(USDC_TEXT, 'must be an amount of USDC with at most six decimals, as text: "0.02"')
      .transform(parseUsdc)
      .refine((value) => value > 0n, 'must be more than nothing'),
    reason: z.string().trim().min(1).max(200),
  })
  on('GET /operator/payments', {
    querystring: filter,
    response: { 200: paymentsAnswerSchema },
    handle: async (_origin, query) => {
      const payments = (await admin.list(query)).map(toPaymentAnswer)
      return { payments, next: nextOf(payments, query.limit) }
    },
  })
  on('GET /operator/payments/:id', {
    ...one,
    handle: async (_origin, { id }) => toPaymentAnswer(await admin.show(id)),
  })
  on('POST /operator/payments/:id/refund', {
    ...one,
    body: refund,
    handle: async (origin, { id, transaction, usdc: value, reason }) =>
      toPaymentAnswer(await admin.refund(id, { transaction, value, reason }, origin)),
  })
}

/** Their addresses are not shown beyond their origin. */
function webhookRoutes(on: On, subscriptions: Subscriptions): void {
  const one = { params, response: { 200: operatorSubscriptionSchema } }
  const changing = { ...one, body: z.strictObject({ reason: z.string().trim().min(1).max(120) }) }
  on('GET /operator/webhooks', {
    querystring: z.strictObject(pageOf(LIMITS.webhookRows)),
    response: { 200: operatorSubscriptionsSchema },
    handle: async (_origin, query) => {
      const webhooks = (await subscriptions.listAll(query)).map(toOperatorSubscription)
      return { webhooks, next: nextOf(webhooks, query.limit) }
    },
  })
  on('GET /operator/webhooks/:id', {
    ...one,
    handle: async (_origin, { id }) => toOperatorSubscription(await subscriptions.showAny(id)),
  })
  on('POST /operator/webhooks/:id/stop', {
    ...changing,
    handle: async (origin, { id, reason }) =>
      toOperatorSubscription(await subscriptions.stop(id, `stopped by the operator: ${reason}`, origin)),
  })
  on('POST /operator/webhooks/:id/allow', {
    ...changing,
    handle: async (origin, { id, reason }) => {
      const words = `allowed again by the operator, to be resumed: ${reason}`
      return toOperatorSubscription(await subscriptions.allow(id, words, origin))
    },
  })
}
