import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  attemptsAnswerSchema,
  createdSubscriptionAnswerSchema,
  eventsAnswerSchema,
  recoveryAnswerSchema,
  retriesAnswerSchema,
  rotatedSecretAnswerSchema,
  subscriptionAnswerSchema,
  subscriptionsAnswerSchema,
  testAnswerSchema,
} from '../../../contracts/webhook-answers.ts'
import { keyedRoutes, type On } from '../keyed-routes.ts'
import { noBody, operationsOf } from '../openapi/operation.ts'
import { type WebhookService, webhookActs } from '../webhook-acts.ts'
import {
  attemptsQuery,
  changeSchema,
  createSchema,
  eventsQuery,
  hasSinceWhereAsked,
  listQuery,
  recoverFields,
  resumeFields,
  rotateFields,
  SINCE_FAULT,
  subscriptionParams,
  testFields,
} from './webhook-requests.ts'

const own = { tag: 'webhooks', key: 'required' } as const
/** Operations that are about no one subscription, and those about one. */
const onAll = operationsOf({ ...own, errors: ['store_unavailable'] })
const onOne = operationsOf({ ...own, errors: ['store_unavailable', 'subscription_unknown'] })

const params = subscriptionParams
const one = { params, response: { 200: subscriptionAnswerSchema } }
type Acts = ReturnType<typeof webhookActs>

/**
 * Subscriptions to webhooks: `/api/webhooks`, what can be done with one of them, and what was sent to it. All of it
 * takes a key.
 */
export const webhookRoutes: FastifyPluginAsync<WebhookService> = async (app, options) => {
  const [on, acts] = [keyedRoutes(app, options.identify), webhookActs(options)]
  // Text that is not said to be JSON is refused as every other type is.
  app.removeContentTypeParser('text/plain')
  app.addHook('preSerialization', async (_request, reply, made: { readonly id?: string }) => {
    if (reply.statusCode === 201) reply.header('location', `/api/webhooks/${made.id}`)
    return made
  })
  filterRoutes(on, acts)
  stateRoutes(on, acts)
  secretRoutes(on, acts)
  deliveryRoutes(on, acts)
}

function filterRoutes(on: On, acts: Acts): void {
  on(
    'POST /api/webhooks',
    onAll('createWebhook', 'Subscribe an address to signals', {
      description:
        'The answer holds the `secret` that signs deliveries. It is shown once. What can never send anything is taken all the same, and named in `warnings`.',
      errors: ['url_refused', 'too_many_subscriptions', 'account_unknown', 'cache_unavailable'],
      bodyExample: {
        url: 'https://bot.example.com/hook',
        events: ['trade_call'],
        timeframes: ['1h'],
        assets: ['top:10'],
      },
    }),
    { body: createSchema, response: { 201: createdSubscriptionAnswerSchema } },
    acts.create,
  )
  on(
    'GET /api/webhooks',
    onAll('webhooks', 'The subscriptions of the account, and how each of them stands'),
    { querystring: listQuery, response: { 200: subscriptionsAnswerSchema } },
    acts.list,
  )
  on('GET /api/webhooks/:id', onOne('webhook', 'One subscription, and how it stands'), one, acts.show)
  on(
    'PATCH /api/webhooks/:id',
    onOne('changeWebhook', 'Change its filter, for signals from now on, its address, or its rate', {
      description:
        'What is left out stays as it is; null is as if it had been left out at first. What waits goes to a new address too, with the same secret; it counts as a new subscription, and ends a failing state.',
      errors: ['subscription_state', 'url_refused', 'cache_unavailable', 'account_unknown'],
      bodyExample: { timeframes: ['4h'], url: 'https://bot.example.com/other', max_per_second: 5 },
    }),
    { ...one, body: changeSchema },
    acts.change,
  )
  on(
    'DELETE /api/webhooks/:id',
    onOne('deleteWebhook', 'Delete it; once this is answered, nothing is sent any more', {
      answers: noBody('It is deleted'),
    }),
    { params },
    acts.remove,
  )
}

function stateRoutes(on: On, acts: Acts): void {
  on(
    'POST /api/webhooks/:id/pause',
    onOne('pauseWebhook', 'Send nothing until it is resumed; nothing is lost', {
      errors: ['subscription_state', 'subscription_stopped'],
    }),
    one,
    acts.pause,
  )
  on(
    'POST /api/webhooks/:id/resume',
    onOne(
      'resumeWebhook',
      'Go on after a pause or when it was disabled: where it stopped, from now, or from the past',
      { errors: ['subscription_stopped'], bodyExample: { from: 'cursor' } },
    ),
    { ...one, body: z.strictObject(resumeFields).refine(hasSinceWhereAsked, SINCE_FAULT) },
    acts.resume,
  )
  on(
    'POST /api/webhooks/:id/recover',
    onOne(
      'recoverWebhook',
      `Try again what was given up since an instant, up to ${LIMITS.webhookOpenDeliveries} deliveries`,
      {
        description: 'With the same ids and bodies, as any other retry; `retries` lists what waits.',
        errors: ['subscription_state', 'subscription_stopped'],
        bodyExample: { since: '2026-01-01T00:00:00Z' },
      },
    ),
    { params, body: z.strictObject(recoverFields), response: { 202: recoveryAnswerSchema } },
    acts.recover,
  )
}

function secretRoutes(on: On, acts: Acts): void {
  on(
    'POST /api/webhooks/:id/rotate-secret',
    onOne('rotateWebhookSecret', 'A new signing secret; it is shown once', {
      errors: ['subscription_state'],
      bodyExample: { overlap_hours: 24 },
    }),
    { params, body: z.strictObject(rotateFields), response: { 200: rotatedSecretAnswerSchema } },
    acts.rotate,
  )
  on(
    'POST /api/webhooks/:id/test',
    onOne('testWebhook', 'Send a signed sample now, and see what the endpoint answers', {
      description: 'Of the event that is named, or of the first that it asks for.',
      errors: ['cache_unavailable', 'subscription_stopped'],
      bodyExample: { event: 'regime_shift' },
    }),
    { params, body: z.strictObject(testFields), response: { 200: testAnswerSchema } },
    acts.test,
  )
}

function deliveryRoutes(on: On, acts: Acts): void {
  on(
    'GET /api/webhooks/:id/deliveries',
    onOne('webhookAttempts', 'What was sent and what came of it, newest first'),
    { params, querystring: attemptsQuery, response: { 200: attemptsAnswerSchema } },
    acts.attempts,
  )
  on(
    'GET /api/webhooks/:id/retries',
    onOne('webhookRetries', 'Deliveries that wait for another try'),
    { params, response: { 200: retriesAnswerSchema } },
    acts.retries,
  )
  on(
    'GET /api/webhooks/:id/events',
    onOne('webhookEvents', 'Pull what was tried, after a number', {
      description:
        'The same bodies with the same ids, whether they were delivered or not: for what a receiver missed. Signals whose window is open come only to a subscription whose endpoint took a delivery before.',
    }),
    { params, querystring: eventsQuery, response: { 200: eventsAnswerSchema } },
    acts.events,
  )
}
