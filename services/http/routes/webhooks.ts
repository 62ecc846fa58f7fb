import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
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
} from '../../../contracts/answers/webhook.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { keyedRoutes, type On } from '../add-routes.ts'
import { operation } from '../openapi.ts'
import {
  attemptsQuery,
  changeSchema,
  createSchema,
  eventsQuery,
  listQuery,
  subscriptionParams as params,
  recoverFields,
  resumeSchema,
  rotateFields,
  testFields,
  type WebhookOwner,
  type WebhookService,
  webhookHandlers,
} from '../webhook-service.ts'

const one = { params, response: { 200: subscriptionAnswerSchema } }
type Handlers = ReturnType<ReturnType<typeof webhookHandlers>>
/** The handler of a route: an action, for the owner of the key that came. */
type Act = <Name extends keyof Handlers>(
  name: Name,
) => (owner: WebhookOwner, input: Parameters<Handlers[Name]>[0]) => Promise<object | undefined>

/** Subscriptions to webhooks: `/api/webhooks`, their states and secrets, and what was sent. All of it requires a key. */
export const webhooksPlugin: FastifyPluginAsync<WebhookService> = async (app, options) => {
  const [on, handlersOf] = [keyedRoutes(app, options.identify), webhookHandlers(options)]
  const act: Act = (name) => (owner, input) => handlersOf(owner)[name](input as never)
  // Text that is not said to be JSON is refused as every other type is.
  app.removeContentTypeParser('text/plain')
  app.addHook('preSerialization', async (_request, reply, made: { readonly id?: string }) => {
    if (reply.statusCode === 201) reply.header('location', `/api/webhooks/${made.id}`)
    return made
  })
  subscriptionRoutes(on, act)
  stateRoutes(on, act)
  deliveryRoutes(on, act)
}

const CREATED = {
  url: 'https://bot.example.com/hook',
  events: ['trade_call'],
  timeframes: ['1h'],
  assets: ['top:10'],
}
const CHANGED = { timeframes: ['4h'], url: 'https://bot.example.com/other', max_per_second: 5 }

function subscriptionRoutes(on: On, act: Act): void {
  on('POST /api/webhooks', {
    ...operation('webhooks', 'createWebhook', 'Subscribe an endpoint to signals'),
    description:
      'The answer holds the `secret` that signs deliveries. It is shown once. A filter that can never match is accepted, and named in `warnings`.',
    body: createSchema.meta({ examples: [CREATED] }),
    response: { 201: createdSubscriptionAnswerSchema },
    handle: act('create'),
  })
  on('GET /api/webhooks', {
    ...operation('webhooks', 'webhooks', 'The subscriptions of the account, with their states'),
    querystring: listQuery,
    response: { 200: subscriptionsAnswerSchema },
    handle: act('list'),
  })
  on('GET /api/webhooks/:id', {
    ...operation('webhooks', 'webhook', 'One subscription, with its state'),
    ...one,
    handle: act('show'),
  })
  on('PATCH /api/webhooks/:id', {
    ...operation(
      'webhooks',
      'changeWebhook',
      'Change its filter, for signals from now on, its address, or its rate',
    ),
    description:
      'A field that is left out stays as it is; null resets it to its default. Waiting deliveries go to a new address with the same secret; it counts as a new subscription, and ends a failing state.',
    ...one,
    body: changeSchema.meta({ examples: [CHANGED] }),
    handle: act('change'),
  })
  on('DELETE /api/webhooks/:id', {
    ...operation('webhooks', 'deleteWebhook', 'Delete it; after this answer nothing more is sent'),
    params,
    handle: act('remove'),
  })
}

function stateRoutes(on: On, act: Act): void {
  on('POST /api/webhooks/:id/pause', {
    ...operation('webhooks', 'pauseWebhook', 'Send nothing until it is resumed; nothing is lost'),
    ...one,
    handle: act('pause'),
  })
  on('POST /api/webhooks/:id/resume', {
    ...operation('webhooks', 'resumeWebhook', 'Resume it from its cursor, from now, or from the past'),
    ...one,
    body: resumeSchema({}),
    handle: act('resume'),
  })
  on('POST /api/webhooks/:id/recover', {
    ...operation(
      'webhooks',
      'recoverWebhook',
      `Retry deliveries that failed for good since an instant, up to ${LIMITS.webhookOpenDeliveries}`,
    ),
    description: 'With the same ids and bodies as before; `retries` lists those that wait.',
    params,
    body: z.strictObject(recoverFields),
    response: { 202: recoveryAnswerSchema },
    handle: act('recover'),
  })
  on('POST /api/webhooks/:id/rotate-secret', {
    ...operation('webhooks', 'rotateWebhookSecret', 'A new signing secret; it is shown once'),
    params,
    body: z.strictObject(rotateFields),
    response: { 200: rotatedSecretAnswerSchema },
    handle: act('rotate'),
  })
  on('POST /api/webhooks/:id/test', {
    ...operation('webhooks', 'testWebhook', 'Send a signed sample now, and see what the endpoint answers'),
    description: 'Of the event that is named, or of the first event of its filter.',
    params,
    body: z.strictObject(testFields),
    response: { 200: testAnswerSchema },
    handle: act('test'),
  })
}

function deliveryRoutes(on: On, act: Act): void {
  on('GET /api/webhooks/:id/deliveries', {
    ...operation('webhooks', 'webhookAttempts', 'Attempts and their results, newest first'),
    params,
    querystring: attemptsQuery,
    response: { 200: attemptsAnswerSchema },
    handle: act('attempts'),
  })
  on('GET /api/webhooks/:id/retries', {
    ...operation('webhooks', 'webhookRetries', 'Deliveries that wait for another attempt'),
    params,
    response: { 200: retriesAnswerSchema },
    handle: act('retries'),
  })
  on('GET /api/webhooks/:id/events', {
    ...operation('webhooks', 'webhookEvents', 'Pull the deliveries after a number'),
    description:
      'The same bodies with the same ids, whether they were delivered or not: for what a receiver missed. Signals whose window is open come only to a subscription whose endpoint accepted a delivery before.',
    params,
    querystring: eventsQuery,
    response: { 200: eventsAnswerSchema },
    handle: act('events'),
  })
}
