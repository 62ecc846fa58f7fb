import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  accountAnswerSchema,
  accountsAnswerSchema,
  endedAnswerSchema,
  keysAnswerSchema,
  signInAnswerSchema,
} from '../../../contracts/account-answers.ts'
import { addressSchema, bytes32Schema, parseUsdc, USDC_TEXT } from '../../../contracts/chain.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { exactInstantParameter } from '../../../contracts/instant-parameter.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { Json } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import { paymentAnswerSchema, paymentsAnswerSchema } from '../../../contracts/payment-answers.ts'
import { tierSchema } from '../../../contracts/plans.ts'
import { PAYMENT_STATES, type QuotaBlock } from '../../../contracts/service-block.ts'
import {
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../../contracts/webhook-answers.ts'
import type { Accounts, AccountView, Payer } from '../../accounts/index.ts'
import type { PaymentAdmin } from '../../payments/index.ts'
import type { Subscriptions } from '../../webhooks/index.ts'
import { isOperator, operatorOrigin, useOperatorOnly } from '../operator.ts'
import { toOperatorSubscription } from '../webhook-responses.ts'
import { labelSchema, toAccountAnswer, toKeyRow, toSignInAnswer } from './accounts.ts'
import { toPaymentAnswer } from './payment-status.ts'

export interface OperatorAccountRoutesOptions {
  readonly accounts: Accounts
  readonly quotaOf: (payer: Payer) => Promise<QuotaBlock>
}

const uuid = z.uuid().toLowerCase()
const idParams = z.strictObject({ id: uuid })
/** A page of a list, after the id of a row. */
const pageOf = (most: number) => ({ after: uuid.optional(), limit: rowsParameter(most) })

const createKeySchema = z.strictObject({
  email: z.string().max(LIMITS.emailCharacters).optional(),
  account_id: uuid.optional(),
  tier: tierSchema.optional(),
  label: labelSchema.default('operator'),
})

/**
 * Accounts and keys for the operator, under `/operator`: by the owner's socket or with the operator's token.
 */
export const operatorAccountRoutes: FastifyPluginAsyncZod<
  OperatorAccountRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, options) => {
  const { accounts } = options
  useOperatorOnly(app, options.operatorToken)
  const answerFor = async (id: string) => {
    const view = await accounts.show(id)
    return toAccountAnswer(view, await options.quotaOf(view.payer))
  }

  const createKey = { body: createKeySchema, response: { 201: signInAnswerSchema } }
  app.post('/operator/keys', { schema: createKey }, async (request, reply) => {
    const { email, account_id: known, tier, label } = request.body
    const choice = { email, accountId: known }
    const issued = await accounts.createKey(choice, { label, tier }, operatorOrigin(request))
    return reply.code(201).send(toSignInAnswer(issued))
  })

  const listKeys = {
    querystring: z.strictObject({ account_id: uuid }),
    response: { 200: keysAnswerSchema },
  }
  app.get('/operator/keys', { schema: listKeys }, async ({ query }) => {
    const { keys } = await accounts.show(query.account_id)
    return { keys: keys.map(toKeyRow), next: null }
  })

  app.delete('/operator/keys/:id', { schema: { params: idParams } }, async (request, reply) => {
    const { id } = request.params
    await accounts.revokeKey(await accounts.accountOfKey(id), id, operatorOrigin(request))
    return reply.code(204).send()
  })

  const endBefore = {
    body: z.strictObject({ issued_before: exactInstantParameter, after: uuid.optional() }),
    response: { 200: endedAnswerSchema },
  }
  app.post('/operator/keys/revoke', { schema: endBefore }, async (request) => {
    const { issued_before, after } = request.body
    const ended = await accounts.endBefore(Date.parse(issued_before), after, operatorOrigin(request))
    return { ...ended, next: ended.next ?? null }
  })

  const list = {
    querystring: z.strictObject(pageOf(LIMITS.accountRows)),
    response: { 200: accountsAnswerSchema },
  }
  app.get('/operator/accounts', { schema: list }, async ({ query }) => {
    const { after, limit } = query
    const ids = await accounts.list({ after, limit })
    const rows = (await Promise.all(ids.map((id) => showIfThere(accounts, id)))).filter(
      (row) => row !== undefined,
    )
    return {
      accounts: rows.map((row) => ({
        account_id: row.accountId,
        email: row.email,
        tier: row.tier,
        opened_at: isoTime(row.openedAt),
        keys: row.keys.length,
      })),
      next: ids.length < limit ? null : (ids.at(-1) ?? null),
    }
  })

  const show = { params: idParams, response: { 200: accountAnswerSchema } }
  app.get('/operator/accounts/:id', { schema: show }, async ({ params }) => answerFor(params.id))

  const grant = { ...show, body: z.strictObject({ tier: tierSchema }) }
  app.post('/operator/accounts/:id/grant', { schema: grant }, async (request) => {
    const { body, params } = request
    await accounts.startPlan(params.id, { tier: body.tier, source: 'operator' }, operatorOrigin(request))
    return answerFor(params.id)
  })

  app.delete('/operator/accounts/:id', { schema: { params: idParams } }, async (request, reply) => {
    await accounts.erase(request.params.id, operatorOrigin(request))
    return reply.code(204).send()
  })
}

/** Undefined for an account that was erased since it was listed. */
async function showIfThere(accounts: Accounts, id: string): Promise<AccountView | undefined> {
  try {
    return await accounts.show(id)
  } catch (error) {
    if (isServiceError(error, 'account_unknown')) return undefined
    throw error
  }
}

export interface OperatorPaymentRoutesOptions {
  readonly paymentAdmin: Pick<PaymentAdmin, 'list' | 'show' | 'refund'>
}

const paymentsSchema = z.strictObject({
  state: z.enum(PAYMENT_STATES).optional(),
  payer: addressSchema.optional(),
  ...pageOf(LIMITS.paymentRows),
})

const refundSchema = z.strictObject({
  transaction: bytes32Schema,
  usdc: z
    .string()
    .regex(USDC_TEXT, 'must be an amount of USDC with at most six decimals, as text: "0.02"')
    .transform(parseUsdc)
    .refine((value) => value > 0n, 'must be more than nothing'),
  reason: z.string().trim().min(1).max(200),
})

/** Payments for the operator, under `/operator`: by the owner's socket or with the operator's token. */
export const operatorPaymentRoutes: FastifyPluginAsyncZod<
  OperatorPaymentRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, { paymentAdmin: admin, operatorToken }) => {
  useOperatorOnly(app, operatorToken)

  const list = { querystring: paymentsSchema, response: { 200: paymentsAnswerSchema } }
  app.get('/operator/payments', { schema: list }, async ({ query }) => {
    const rows = await admin.list(query)
    const next = rows.length < query.limit ? null : (rows.at(-1)?.paymentId ?? null)
    return { payments: rows.map(toPaymentAnswer), next }
  })

  const show = { params: idParams, response: { 200: paymentAnswerSchema } }
  app.get('/operator/payments/:id', { schema: show }, async ({ params }) =>
    toPaymentAnswer(await admin.show(params.id)),
  )

  const refund = { ...show, body: refundSchema }
  app.post('/operator/payments/:id/refund', { schema: refund }, async (request) => {
    const { transaction, usdc: value, reason: why } = request.body
    const sent = { transaction, value, reason: why }
    return toPaymentAnswer(await admin.refund(request.params.id, sent, operatorOrigin(request)))
  })
}

export interface OperatorWebhookRoutesOptions {
  readonly subscriptions: Subscriptions
}

const reasonSchema = z.strictObject({
  reason: z.string().trim().min(1).max(120),
})

/**
 * Subscriptions for the operator, under `/operator`: by the owner's socket or with the operator's token. Their
 * addresses are not shown beyond their origin.
 */
export const operatorWebhookRoutes: FastifyPluginAsyncZod<
  OperatorWebhookRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, { subscriptions, operatorToken }) => {
  useOperatorOnly(app, operatorToken)

  const list = {
    querystring: z.strictObject(pageOf(LIMITS.webhookRows)),
    response: { 200: operatorSubscriptionsSchema },
  }
  app.get('/operator/webhooks', { schema: list }, async ({ query }) => {
    const rows = (await subscriptions.listAll(query)).map(toOperatorSubscription)
    return { webhooks: rows, next: rows.length < query.limit ? null : (rows.at(-1)?.id ?? null) }
  })

  const one = { params: idParams, response: { 200: operatorSubscriptionSchema } }
  app.get('/operator/webhooks/:id', { schema: one }, async ({ params }) =>
    toOperatorSubscription(await subscriptions.showAny(params.id)),
  )

  const changing = { ...one, body: reasonSchema }
  app.post('/operator/webhooks/:id/stop', { schema: changing }, async ({ id, params, body }) => {
    const reason = `stopped by the operator: ${body.reason}`
    return toOperatorSubscription(await subscriptions.stop(params.id, reason, operatorOrigin({ id })))
  })

  app.post('/operator/webhooks/:id/allow', { schema: changing }, async ({ id, params, body }) => {
    const reason = `allowed again by the operator, to be resumed: ${body.reason}`
    return toOperatorSubscription(await subscriptions.allow(params.id, reason, operatorOrigin({ id })))
  })
}

export interface OperatorToolRoutesOptions {
  /**
   * Answers a tool call of any caller.
   *
   * @throws ServiceError for an unknown tool, a request that is not valid, and every refusal of the tool.
   */
  readonly answerTool: (tool: string, request: unknown) => Promise<Json>
  readonly operatorToken: string | undefined
}

/** `POST /operator/tools/:tool`: a tool's answer for the operator, neither metered nor paid for. */
export const operatorToolRoutes: FastifyPluginAsyncZod<OperatorToolRoutesOptions> = async (app, options) => {
  const schema = { params: z.object({ tool: z.string().max(64) }) }
  app.post('/operator/tools/:tool', { schema }, async (request, reply) => {
    if (!isOperator(request, options.operatorToken)) throw new ServiceError('unauthorized')
    reply.header('cache-control', 'no-store')
    return options.answerTool(request.params.tool, request.body ?? {})
  })
}
