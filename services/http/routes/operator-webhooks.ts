import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import {
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../../contracts/webhook-answers.ts'
import type { Subscriptions } from '../../webhooks/index.ts'
import { operatorOrigin, useOperatorOnly } from '../operator.ts'
import { toOperatorSubscription } from '../webhook-answers.ts'
import { subscriptionParams } from './webhook-requests.ts'

export interface OperatorWebhookRoutesOptions {
  readonly subscriptions: Subscriptions
}

const listSchema = z.strictObject({
  after: z.uuid().toLowerCase().optional(),
  limit: rowsParameter(LIMITS.webhookRows),
})

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

  const list = { querystring: listSchema, response: { 200: operatorSubscriptionsSchema } }
  app.get('/operator/webhooks', { schema: list }, async ({ query }) => {
    const rows = (await subscriptions.listAll(query)).map(toOperatorSubscription)
    return { webhooks: rows, next: rows.length < query.limit ? null : (rows.at(-1)?.id ?? null) }
  })

  const one = { params: subscriptionParams, response: { 200: operatorSubscriptionSchema } }
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
