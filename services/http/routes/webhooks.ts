import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { DELIVERY_FORMS, REPLAY_SCOPES } from '../../../contracts/subscription.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import {
  createdSubscriptionAnswerSchema,
  replayAnswerSchema,
  replayRowSchema,
  rotatedSecretAnswerSchema,
  signatureCheckSchema,
  subscriptionAnswerSchema,
  subscriptionsAnswerSchema,
  testAnswerSchema,
} from '../../../contracts/webhook-answers.ts'
import type { Identify } from '../../accounts/index.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { callerAs } from '../../tool-calls/index.ts'
import {
  type DeliveryQueries,
  filterChangeSchema,
  filterFields,
  type Subscriptions,
  type SubscriptionView,
} from '../../webhooks/index.ts'
import { toCancelledAnswer, toReplayAnswer, toSubscriptionAnswer, toTestAnswer } from '../webhook-answers.ts'
import type { WebhookLooks } from '../webhook-looks.ts'

export interface WebhookRoutesOptions extends Pick<Clock, 'now'> {
  readonly subscriptions: Subscriptions
  readonly queries: DeliveryQueries
  /** Whose a request is. */
  readonly identify: Identify
  /** One for all routes of webhooks. */
  readonly looks: WebhookLooks
}

export const subscriptionParams = z.strictObject({ id: z.uuid().toLowerCase() })

/** A position of the log, an instant, or a word. */
export const pointSchema = z.string().min(1).max(64)

export const createSchema = z
  .strictObject({
    form: z
      .enum(DELIVERY_FORMS)
      .optional()
      .describe('`signed_json` without it; the others tell a chat in words'),
    url: z
      .string()
      .min(1)
      .max(LIMITS.webhookUrlCharacters)
      .optional()
      .describe(
        'Where deliveries are sent: a public HTTPS address on port 443 or 8443; of `discord` and `slack` the incoming webhook. Required but for `telegram`',
      ),
    bot_token: z.string().max(128).optional().describe('Of `telegram`, as BotFather gave it'),
    chat_id: z
      .union([z.string().max(64), z.int()])
      .optional()
      .describe('Of `telegram`'),
    ...filterFields,
    start: pointSchema
      .default('now')
      .describe(
        `Signals behind this: \`now\`, a position, or an ISO 8601 instant, at most ${LIMITS.webhookPastMs / (24 * HOUR_MS)} days back`,
      ),
  })
  .refine(({ form, url }) => form === 'telegram' || url !== undefined, {
    path: ['url'],
    error: 'is required',
    // Also where other fields are wrong: one answer names all that is missing.
    when: ({ value }) => typeof value === 'object' && value !== null,
  })

export const listQuery = z.strictObject({
  status: z
    .enum(['active', 'disabled', 'all'])
    .default('active')
    .describe('`active`: those that are paused and degraded included; `disabled`; `all`'),
  after: z
    .string()
    .max(64)
    .regex(/^\d{15}\.[0-9a-f-]{36}$/, 'must be the `next` of an answer')
    .optional()
    .describe('Those behind these: the `next` of the answer before'),
  limit: z.coerce.number().int().min(1).max(LIMITS.webhookRows).default(50).describe('Rows at most'),
})

export const resumeFields = {
  from: z
    .enum(['cursor', 'now', 'since'])
    .default('cursor')
    .describe('Go on where it stopped, leave out what lies between, or begin behind `since`'),
  since: pointSchema.optional().describe('A position or an instant; with `from: "since"`'),
}

export const hasSinceWhereAsked = ({
  from,
  since,
}: {
  readonly from: string
  readonly since?: string | undefined
}): boolean => (from === 'since') === (since !== undefined)

export const SINCE_FAULT = { path: ['since'], error: 'goes with `from: "since"`, and only with it' }

export const rotateFields = {
  overlap_hours: z
    .number()
    .min(0)
    .max(LIMITS.secretOverlapMaxMs / HOUR_MS)
    .default(LIMITS.secretOverlapMs / HOUR_MS)
    .describe('How long the secrets before it sign beside it'),
}

/** What a receiver got of one delivery. */
const checkSchema = z.strictObject({
  timestamp: z.string().max(12).describe('`X-Service-Timestamp`, as it came'),
  signature: z.string().max(1_024).describe('`X-Service-Signature`, or the newer one of a rotation'),
  body: z.string().max(LIMITS.requestBodyBytes).describe('The body, as it came'),
})

const sequence = z.int().min(1).max(Number.MAX_SAFE_INTEGER)
const only = z
  .enum(REPLAY_SCOPES)
  .default('all')
  .describe('`failed`: no more than what was tried, was never taken, and is not tried again by itself')
export const replaySchema = z.union(
  [
    z.strictObject({ from_sequence: sequence, to_sequence: sequence, only }),
    z.strictObject({
      from: z.iso.datetime({ offset: true }),
      to: z.iso.datetime({ offset: true }).optional().describe('Until now without it'),
      only,
    }),
  ],
  {
    error:
      'give from_sequence and to_sequence, numbers of deliveries from 1, or from and maybe to, instants of ISO 8601; with only: all or failed',
  },
)

/** Which deliveries are to be sent again: by their numbers, or from one instant to another. */
export const replayWindow = (asked: z.output<typeof replaySchema>) =>
  'from' in asked
    ? {
        from: Date.parse(asked.from),
        to: asked.to === undefined ? undefined : Date.parse(asked.to),
        only: asked.only,
      }
    : { fromSequence: asked.from_sequence, toSequence: asked.to_sequence, only: asked.only }

export const replayParams = subscriptionParams.extend({ replay_id: z.uuid().toLowerCase() })

/** Whose key came with a request, and on whose behalf what it does is done. */
export async function ownerOf(
  { identify }: Pick<WebhookRoutesOptions, 'identify'>,
  { headers, id }: FastifyRequest,
) {
  return callerAs(await identify(headers.authorization), id)
}

/**
 * Subscriptions to webhooks: `/api/webhooks` and what can be done with one of them. All of it takes a key.
 *
 * @example curl -H "Authorization: Bearer $API_KEY" -d '{"url":"https://…","events":["trade_call"]}' …/api/webhooks
 */
export const webhookRoutes: FastifyPluginAsyncZod<WebhookRoutesOptions> = async (app, options) => {
  const { subscriptions, now, looks } = options
  // Text that is not said to be JSON is refused as every other type is.
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
  const callerOf = (request: FastifyRequest) => ownerOf(options, request)
  const answerOf = (view: SubscriptionView) =>
    toSubscriptionAnswer(view, subscriptions.warnings(view.subscription), now())

  const create = { body: createSchema, response: { 201: createdSubscriptionAnswerSchema } }
  app.post('/api/webhooks', { schema: create }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    // Node joins several of them with a comma and a space, which is no key.
    const idempotencyKey = request.headers['idempotency-key'] as string | undefined
    const created = await subscriptions.create(accountId, request.body, { idempotencyKey }, origin)
    reply.header('location', `/api/webhooks/${created.subscription.subscriptionId}`)
    return reply.code(201).send({ ...answerOf(created), secret: created.secret })
  })

  const list = { querystring: listQuery, response: { 200: subscriptionsAnswerSchema } }
  app.get('/api/webhooks', { schema: list }, async (request, reply) => {
    const { accountId } = await callerOf(request)
    return looks.look(accountId, reply, async () => {
      const { rows, next, needsReview } = await subscriptions.list(accountId, request.query)
      return { webhooks: rows.map(answerOf), needs_review: needsReview, next }
    })
  })

  const one = { params: subscriptionParams, response: { 200: subscriptionAnswerSchema } }
  app.get('/api/webhooks/:id', { schema: one }, async (request, reply) => {
    const { accountId } = await callerOf(request)
    const show = () => subscriptions.show(accountId, request.params.id)
    return answerOf(await looks.look(accountId, reply, show))
  })

  app.patch('/api/webhooks/:id', { schema: { ...one, body: filterChangeSchema } }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    return answerOf(await subscriptions.change(accountId, request.params.id, request.body, origin))
  })

  app.delete('/api/webhooks/:id', { schema: { params: subscriptionParams } }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    await subscriptions.remove(accountId, request.params.id, origin)
    return reply.code(204).send()
  })

  app.post('/api/webhooks/:id/pause', { schema: one }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    return answerOf(await subscriptions.pause(accountId, request.params.id, origin))
  })

  app.post(
    '/api/webhooks/:id/resume',
    {
      schema: {
        ...one,
        body: z.strictObject(resumeFields).refine(hasSinceWhereAsked, SINCE_FAULT).nullish(),
      },
    },
    async (request) => {
      const { accountId, origin } = await callerOf(request)
      const { from = 'cursor', since } = request.body ?? {}
      return answerOf(await subscriptions.resume(accountId, request.params.id, { from, since }, origin))
    },
  )

  const rotate = {
    params: subscriptionParams,
    body: z.strictObject(rotateFields).nullish(),
    response: { 200: rotatedSecretAnswerSchema },
  }
  app.post('/api/webhooks/:id/rotate-secret', { schema: rotate }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    const { overlap_hours: hours = LIMITS.secretOverlapMs / HOUR_MS } = request.body ?? {}
    const overlapMs = Math.round(hours * HOUR_MS)
    const rotated = await subscriptions.rotateSecret(accountId, request.params.id, overlapMs, origin)
    return { secret: rotated.secret, overlap_until: isoTime(rotated.overlapUntil) }
  })

  app.post('/api/webhooks/:id/end-overlap', { schema: one }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    return answerOf(await subscriptions.endOverlap(accountId, request.params.id, origin))
  })

  const test = { params: subscriptionParams, response: { 200: testAnswerSchema } }
  app.post('/api/webhooks/:id/test', { schema: test }, async (request) => {
    const { accountId } = await callerOf(request)
    return toTestAnswer(await subscriptions.test(accountId, request.params.id))
  })

  const check = {
    params: subscriptionParams,
    body: checkSchema,
    response: { 200: signatureCheckSchema },
  }
  app.post('/api/webhooks/:id/check-signature', { schema: check }, async (request, reply) => {
    const { accountId } = await callerOf(request)
    const asked = () => subscriptions.checkSignature(accountId, request.params.id, request.body)
    const reason = await looks.look(accountId, reply, asked)
    return { is_valid: reason === undefined, reason: reason ?? null }
  })

  const replay = { params: subscriptionParams, body: replaySchema, response: { 202: replayAnswerSchema } }
  app.post('/api/webhooks/:id/replay', { schema: replay }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    const window = replayWindow(request.body)
    const ask = () => subscriptions.replay(accountId, request.params.id, window, origin)
    return reply.code(202).send(toReplayAnswer(await looks.look(accountId, reply, ask)))
  })

  const cancel = { params: replayParams, response: { 200: replayRowSchema } }
  app.post('/api/webhooks/:id/replays/:replay_id/cancel', { schema: cancel }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    const { id, replay_id: replayId } = request.params
    return toCancelledAnswer(await subscriptions.cancelReplay(accountId, id, replayId, origin), replayId)
  })
}
