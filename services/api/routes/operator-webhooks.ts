import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../../contracts/webhook-answers.ts'
import type { Subscriptions } from '../../webhooks/index.ts'
import { isOperator } from '../operator.ts'
import { toOperatorSubscription } from '../webhook-answers.ts'
import { subscriptionParams } from './webhooks.ts'

export interface OperatorWebhookRoutesOptions {
  readonly subscriptions: Subscriptions
}

const listSchema = z.strictObject({
  after: z.uuid().toLowerCase().optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.webhookRows).default(LIMITS.webhookRows),
})

const disableSchema = z.strictObject({
  reason: z.string().trim().min(1).max(150),
})

/**
 * Subscriptions for the operator, under `/operator`: by the owner's socket or with the operator's token. Their
 * addresses are not shown beyond their origin.
 *
 * @example curl --unix-socket data/simulated/owner.sock http://localhost/operator/webhooks
 */
export const operatorWebhookRoutes: FastifyPluginAsyncZod<
  OperatorWebhookRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, { subscriptions, operatorToken }) => {
  app.addHook('onRequest', async (request, reply) => {
    if (!isOperator(request, operatorToken)) throw new ServiceError('unauthorized')
    reply.header('cache-control', 'no-store')
  })

  const list = { querystring: listSchema, response: { 200: operatorSubscriptionsSchema } }
  app.get('/operator/webhooks', { schema: list }, async ({ query }) => {
    const rows = (await subscriptions.listAll(query)).map(toOperatorSubscription)
    return { webhooks: rows, next: rows.length < query.limit ? null : (rows.at(-1)?.id ?? null) }
  })

  const one = { params: subscriptionParams, response: { 200: operatorSubscriptionSchema } }
  app.get('/operator/webhooks/:id', { schema: one }, async ({ params }) =>
    toOperatorSubscription(await subscriptions.showAny(params.id)),
  )

  app.post('/operator/webhooks/:id/disable', { schema: { ...one, body: disableSchema } }, async (request) => {
    const reason = `disabled by the operator: ${request.body.reason}`
    const origin = { correlationId: request.id, actor: 'operator' }
    return toOperatorSubscription(await subscriptions.disable(request.params.id, reason, origin))
  })
}
