import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { DELIVERY_RESULTS } from '../../../contracts/delivery-events.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import {
  attemptsAnswerSchema,
  deliveryAnswerSchema,
  dryRunAnswerSchema,
  eventsAnswerSchema,
  retriesAnswerSchema,
} from '../../../contracts/webhook-answers.ts'
import { filterFields, filterWarnings, readFilter, type SignalCoverage } from '../../webhooks/index.ts'
import { toAttempt, toRetry } from '../webhook-answers.ts'
import {
  pointSchema,
  subscriptionOperation,
  subscriptionParams,
  webhookOperation,
} from './webhook-requests.ts'
import { ownerOf, type WebhookRoutesOptions } from './webhooks.ts'

export interface WebhookDeliveryRoutesOptions extends WebhookRoutesOptions {
  readonly coverage: () => SignalCoverage
  /** Checks how an address is written. @throws ServiceError `url_refused` */
  readonly checkUrl: (url: string) => unknown
}

const limit = z.coerce.number().int().min(1).max(LIMITS.webhookRows).default(50).describe('Rows at most')
const after = z.string().min(1).max(64)

export const attemptsQuery = z.strictObject({
  after: after.optional().describe('Those behind these: the `next` of the answer before'),
  limit,
  result: z.enum(DELIVERY_RESULTS).optional().describe('Only attempts that ended so'),
})

const eventsQuery = z.strictObject({
  after: after
    .default('0')
    .describe('Those behind this: the number of the last delivery you have, or the `next` of an answer'),
  limit,
})

const deliveryParams = subscriptionParams.extend({
  delivery_id: z.uuid().toLowerCase().describe('The `delivery_id` of an attempt, or of a body'),
})

const dryRunSchema = z.strictObject({
  url: z
    .string()
    .min(1)
    .max(LIMITS.webhookUrlCharacters)
    .optional()
    .describe('Checked as at a creation, without being looked up; nothing is sent to it'),
  ...filterFields,
  from: pointSchema.optional().describe('A position or an ISO 8601 instant; a day ago without it'),
  to: pointSchema.optional().describe('A position or an instant; now without it'),
  limit: z.int().min(0).max(LIMITS.webhookRows).default(20).describe('Rows at most'),
})

/**
 * Deliveries that were sent, were missed, or would have been sent: `/api/webhooks/:id/deliveries`, `/retries`, `/events`,
 * and `POST /api/webhooks/dry-run`.
 *
 * @example curl -H "Authorization: Bearer $API_KEY" '…/api/webhooks/<id>/events?after=41'
 */
export const webhookDeliveryRoutes: FastifyPluginAsyncZod<WebhookDeliveryRoutesOptions> = async (
  app,
  options,
) => {
  const { subscriptions, queries, now, coverage, looks } = options
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })

  const attempts = {
    operation: subscriptionOperation('webhookAttempts', 'What was sent and what came of it, newest first', {
      errors: ['too_many_streams'],
    }),
    params: subscriptionParams,
    querystring: attemptsQuery,
    response: { 200: attemptsAnswerSchema },
  }
  app.get('/api/webhooks/:id/deliveries', { schema: attempts }, async (request, reply) => {
    const { accountId } = await ownerOf(options, request)
    return looks.look(accountId, reply, async () => {
      const subscription = await subscriptions.find(accountId, request.params.id)
      const { rows, next } = await queries.attempts(subscription.subscriptionId, request.query)
      return { attempts: (await subscriptions.openAttempts(subscription, rows)).map(toAttempt), next }
    })
  })

  const delivery = {
    operation: subscriptionOperation('webhookDelivery', 'One delivery: its exact body, and all attempts', {
      errors: ['too_many_streams', 'delivery_unknown', 'delivery_withheld'],
    }),
    params: deliveryParams,
    response: { 200: deliveryAnswerSchema },
  }
  app.get('/api/webhooks/:id/deliveries/:delivery_id', { schema: delivery }, async (request, reply) => {
    const { accountId } = await ownerOf(options, request)
    const { shown, opened } = await looks.look(accountId, reply, async () => {
      const subscription = await subscriptions.find(accountId, request.params.id)
      const found = await queries.show(subscription, request.params.delivery_id)
      return { shown: found, opened: await subscriptions.openAttempts(subscription, found.attempts) }
    })
    return {
      delivery_id: shown.deliveryId,
      sequence: shown.sequence,
      event: shown.signal.type,
      body: shown.body.toString('utf8'),
      body_sha256: shown.bodySha256,
      attempts: opened.map(toAttempt),
      is_complete: shown.isComplete,
    }
  })

  const retries = {
    operation: subscriptionOperation('webhookRetries', 'Deliveries that wait for another try', {
      errors: ['too_many_streams'],
    }),
    params: subscriptionParams,
    response: { 200: retriesAnswerSchema },
  }
  app.get('/api/webhooks/:id/retries', { schema: retries }, async (request, reply) => {
    const { accountId } = await ownerOf(options, request)
    const open = await looks.look(accountId, reply, async () =>
      queries.open(await subscriptions.find(accountId, request.params.id)),
    )
    return { retries: open.map(toRetry) }
  })

  const events = {
    operation: subscriptionOperation('webhookEvents', 'Pull what was sent or is due, behind a number', {
      description:
        'The same bodies with the same ids, whether they were delivered or not: for what a receiver missed. Signals whose window is open come only to a subscription whose endpoint took a delivery before.',
      errors: ['too_many_streams'],
    }),
    params: subscriptionParams,
    querystring: eventsQuery,
    response: { 200: eventsAnswerSchema },
  }
  app.get('/api/webhooks/:id/events', { schema: events }, async (request, reply) => {
    const { accountId } = await ownerOf(options, request)
    const { rows, next } = await looks.look(accountId, reply, async () =>
      queries.missed(await subscriptions.find(accountId, request.params.id), request.query),
    )
    const bodies = rows.map(({ body }) => JSON.parse(body.toString('utf8')) as EventBody)
    return { events: bodies, next }
  })

  const dryRun = {
    operation: webhookOperation('dryRunWebhook', 'What a filter would have sent in the past', {
      description: 'Signals whose window is open are neither shown nor counted.',
      errors: ['too_many_streams', 'url_refused'],
      bodyExample: { events: ['trade_call'], timeframes: ['1h'], min_strength: 70 },
    }),
    body: dryRunSchema,
    response: { 200: dryRunAnswerSchema },
  }
  app.post('/api/webhooks/dry-run', { schema: dryRun }, async (request, reply) => {
    const { accountId } = await ownerOf(options, request)
    const { from, to, limit: rows, url, ...fields } = request.body
    if (url !== undefined) options.checkUrl(url)
    const filter = readFilter(fields)
    const run = await looks.dryRun(accountId, reply, async () => {
      const behind = await subscriptions.positionOf('from', from ?? isoTime(now() - DAY_MS))
      const upTo = to === undefined ? undefined : await subscriptions.positionOf('to', to)
      return queries.dryRun(filter, { after: behind, upTo, limit: rows })
    })
    return {
      matched: run.matched,
      rows: run.rows.map(({ eventId, position, at, data }) => ({
        event_id: eventId,
        position,
        at: isoTime(at),
        data: data as EventBody['data'],
      })),
      scanned: run.scanned,
      next: run.next,
      warnings: filterWarnings(filter, coverage()),
    }
  })
}

type EventBody = z.infer<typeof eventsAnswerSchema>['events'][number] & JsonObject
