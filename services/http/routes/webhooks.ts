import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
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
  type Subscriptions,
  type SubscriptionView,
} from '../../webhooks/index.ts'
import { noBody } from '../openapi/operation.ts'
import { toCancelledAnswer, toReplayAnswer, toSubscriptionAnswer, toTestAnswer } from '../webhook-answers.ts'
import type { WebhookLooks } from '../webhook-looks.ts'
import {
  checkSchema,
  createSchema,
  hasSinceWhereAsked,
  listQuery,
  replayParams,
  replaySchema,
  replayWindow,
  resumeFields,
  rotateFields,
  SINCE_FAULT,
  subscriptionOperation,
  subscriptionParams,
  webhookOperation,
} from './webhook-requests.ts'

export interface WebhookRoutesOptions extends Pick<Clock, 'now'> {
  readonly subscriptions: Subscriptions
  readonly queries: DeliveryQueries
  /** Finds the account of a request by its credential. */
  readonly identify: Identify
  /** One for all routes of webhooks. */
  readonly looks: WebhookLooks
}

/** The account of a request's key, and the origin of the events that the request causes. */
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

  const create = {
    operation: webhookOperation('createWebhook', 'Subscribe an address to signals', {
      description:
        'The answer holds the `secret` that signs deliveries. It is shown once: only a repeat with the same `Idempotency-Key` and the same request shows it again. What can never send anything is taken all the same, and named in `warnings`.',
      errors: [
        'url_refused',
        'too_many_subscriptions',
        'idempotency_mismatch',
        'account_unknown',
        'cache_unavailable',
      ],
      headers: {
        'Idempotency-Key': 'Makes a repeat of this request safe: it answers what the first made',
      },
      bodyExample: {
        url: 'https://bot.example.com/hook',
        events: ['trade_call'],
        timeframes: ['1h'],
        assets: ['top:10'],
      },
    }),
    body: createSchema,
    response: { 201: createdSubscriptionAnswerSchema },
  }
  app.post('/api/webhooks', { schema: create }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    // Node joins several of them with a comma and a space, which is no key.
    const idempotencyKey = request.headers['idempotency-key'] as string | undefined
    const created = await subscriptions.create(accountId, request.body, { idempotencyKey }, origin)
    reply.header('location', `/api/webhooks/${created.subscription.subscriptionId}`)
    return reply.code(201).send({ ...answerOf(created), secret: created.secret })
  })

  const list = {
    operation: webhookOperation('webhooks', 'The subscriptions of the account, and how each of them stands', {
      errors: ['too_many_streams'],
    }),
    querystring: listQuery,
    response: { 200: subscriptionsAnswerSchema },
  }
  app.get('/api/webhooks', { schema: list }, async (request, reply) => {
    const { accountId } = await callerOf(request)
    return looks.look(accountId, reply, async () => {
      const { rows, next, needsReview } = await subscriptions.list(accountId, request.query)
      return { webhooks: rows.map(answerOf), needs_review: needsReview, next }
    })
  })

  const one = { params: subscriptionParams, response: { 200: subscriptionAnswerSchema } }
  const show = subscriptionOperation('webhook', 'One subscription, and how many signals wait for it', {
    errors: ['too_many_streams'],
  })
  app.get('/api/webhooks/:id', { schema: { ...one, operation: show } }, async (request, reply) => {
    const { accountId } = await callerOf(request)
    const find = () => subscriptions.show(accountId, request.params.id)
    return answerOf(await looks.look(accountId, reply, find))
  })

  const change = {
    ...one,
    operation: subscriptionOperation('changeWebhook', 'Change its filter, for signals from now on', {
      description: 'What is left out stays as it is; null is as if it had been left out at first.',
      errors: ['subscription_state'],
      bodyExample: { timeframes: ['4h'], only_changes: true },
    }),
    body: filterChangeSchema,
  }
  app.patch('/api/webhooks/:id', { schema: change }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    return answerOf(await subscriptions.change(accountId, request.params.id, request.body, origin))
  })

  const remove = {
    operation: subscriptionOperation(
      'deleteWebhook',
      'Delete it; once this is answered, nothing is sent any more',
      { answers: noBody('It is deleted') },
    ),
    params: subscriptionParams,
  }
  app.delete('/api/webhooks/:id', { schema: remove }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    await subscriptions.remove(accountId, request.params.id, origin)
    return reply.code(204).send()
  })

  const pause = subscriptionOperation('pauseWebhook', 'Send nothing until it is resumed; nothing is lost', {
    errors: ['subscription_state', 'subscription_stopped'],
  })
  app.post('/api/webhooks/:id/pause', { schema: { ...one, operation: pause } }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    return answerOf(await subscriptions.pause(accountId, request.params.id, origin))
  })

  const resume = {
    ...one,
    operation: subscriptionOperation(
      'resumeWebhook',
      'Go on after a pause or when it was disabled: where it stopped, from now, or from the past',
      { errors: ['subscription_stopped'], bodyExample: { from: 'cursor' } },
    ),
    body: z.strictObject(resumeFields).refine(hasSinceWhereAsked, SINCE_FAULT).nullish(),
  }
  app.post('/api/webhooks/:id/resume', { schema: resume }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    const { from = 'cursor', since } = request.body ?? {}
    return answerOf(await subscriptions.resume(accountId, request.params.id, { from, since }, origin))
  })

  const rotate = {
    operation: subscriptionOperation('rotateWebhookSecret', 'A new signing secret; it is shown once', {
      errors: ['subscription_state'],
      bodyExample: { overlap_hours: 24 },
    }),
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

  const endOverlap = subscriptionOperation(
    'endWebhookOverlap',
    'End the overlap of a rotation: from now on only the newest secret signs',
  )
  app.post(
    '/api/webhooks/:id/end-overlap',
    { schema: { ...one, operation: endOverlap } },
    async (request) => {
      const { accountId, origin } = await callerOf(request)
      return answerOf(await subscriptions.endOverlap(accountId, request.params.id, origin))
    },
  )

  const test = {
    operation: subscriptionOperation(
      'testWebhook',
      'Send a signed sample now, and see what the endpoint answers',
      { errors: ['cache_unavailable', 'subscription_stopped'] },
    ),
    params: subscriptionParams,
    response: { 200: testAnswerSchema },
  }
  app.post('/api/webhooks/:id/test', { schema: test }, async (request) => {
    const { accountId } = await callerOf(request)
    return toTestAnswer(await subscriptions.test(accountId, request.params.id))
  })

  const check = {
    operation: subscriptionOperation(
      'checkWebhookSignature',
      'Whether what your receiver got fits the secrets of this subscription',
      {
        description:
          'How long ago it was sent does not matter here; your receiver should refuse what is old.',
        errors: ['too_many_streams'],
        bodyExample: { timestamp: '1795392000', signature: '5d41…', body: '{"event":"trade_call"}' },
      },
    ),
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

  const replay = {
    operation: subscriptionOperation(
      'replayWebhook',
      'Send a window of the past again, or what of it failed, with the same ids and bodies',
      {
        description: 'Its progress stands in `replays` of the subscription.',
        errors: ['too_many_streams', 'subscription_state', 'subscription_stopped'],
        bodyExample: { from: '2026-01-01T00:00:00Z', only: 'failed' },
      },
    ),
    params: subscriptionParams,
    body: replaySchema,
    response: { 202: replayAnswerSchema },
  }
  app.post('/api/webhooks/:id/replay', { schema: replay }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    const window = replayWindow(request.body)
    const ask = () => subscriptions.replay(accountId, request.params.id, window, origin)
    return reply.code(202).send(toReplayAnswer(await looks.look(accountId, reply, ask)))
  })

  const cancel = {
    operation: subscriptionOperation(
      'cancelWebhookReplay',
      'End a replay before its end; once this is answered, nothing more of it is begun',
      {
        description: 'What was sent stays sent. One that is done stays done.',
        errors: ['replay_unknown'],
      },
    ),
    params: replayParams,
    response: { 200: replayRowSchema },
  }
  app.post('/api/webhooks/:id/replays/:replay_id/cancel', { schema: cancel }, async (request) => {
    const { accountId, origin } = await callerOf(request)
    const { id, replay_id: replayId } = request.params
    return toCancelledAnswer(await subscriptions.cancelReplay(accountId, id, replayId, origin), replayId)
  })
}
