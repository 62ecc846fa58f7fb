import type { FastifyPluginAsync } from 'fastify'
import * as answers from '../../../contracts/answers/webhook.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { keyedRoutes, type On } from '../add-routes.ts'
import { operation } from '../openapi.ts'
import {
  subscriptionParams as params,
  webhookRequests as requests,
  type WebhookOwner,
  type WebhookService,
  webhookHandlers,
} from '../webhook-service.ts'

const one = { params, response: { 200: answers.subscriptionAnswerSchema } }
const words = (id: string, summary: string) => operation('webhooks', id, summary)
type Handlers = ReturnType<ReturnType<typeof webhookHandlers>>
/** The handler of a route: an action, for the owner of the key that came. */
type Act = <Name extends keyof Handlers>(
  name: Name,
) => (owner: WebhookOwner, input: Parameters<Handlers[Name]>[0]) => Promise<object | void>

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
    ...words('createWebhook', 'Subscribe an endpoint to signals'),
    description:
      'The answer holds the `secret` that signs deliveries. It is shown once. A filter that can never match is accepted, and named in `warnings`.',
    body: requests.create.meta({ examples: [CREATED] }),
    response: { 201: answers.createdSubscriptionAnswerSchema },
    handle: act('create'),
  })
  on('GET /api/webhooks', {
    ...words('webhooks', 'The subscriptions of the account, with their states'),
    querystring: requests.list,
    response: { 200: answers.subscriptionsAnswerSchema },
    handle: act('list'),
  })
  on('GET /api/webhooks/:id', {
    ...words('webhook', 'One subscription, with its state'),
    ...one,
    handle: act('show'),
  })
  on('PATCH /api/webhooks/:id', {
    ...words('changeWebhook', 'Change its filter, for signals from now on, its address, or its rate'),
    description:
      'A field that is left out stays as it is; null resets it to its default. Waiting deliveries go to a new address with the same secret; it counts as a new subscription, and ends a failing state.',
    ...one,
    body: requests.change.meta({ examples: [CHANGED] }),
    handle: act('change'),
  })
  on('DELETE /api/webhooks/:id', {
    ...words('deleteWebhook', 'Delete it; after this answer nothing more is sent'),
    params,
    handle: act('remove'),
  })
  on('POST /api/webhooks/:id/pause', {
    ...words('pauseWebhook', 'Send nothing until it is resumed; nothing is lost'),
    ...one,
    handle: act('pause'),
  })
  on('POST /api/webhooks/:id/resume', {
    ...words('resumeWebhook', 'Resume it from its cursor, from now, or from the past'),
    ...one,
    body: requests.resume,
    handle: act('resume'),
  })
  on('POST /api/webhooks/:id/recover', {
    ...words('recoverWebhook', 'Retry deliveries that failed for good since an instant'),
    description: `With the same ids and bodies as before, up to ${LIMITS.webhookOpenDeliveries}; \`retries\` lists those that wait.`,
    params,
    body: requests.recover,
    response: { 202: answers.recoveryAnswerSchema },
    handle: act('recover'),
  })
  on('POST /api/webhooks/:id/rotate-secret', {
    ...words('rotateWebhookSecret', 'A new signing secret; it is shown once'),
    params,
    body: requests.rotate,
    response: { 200: answers.rotatedSecretAnswerSchema },
    handle: act('rotate'),
  })
}

function deliveryRoutes(on: On, act: Act): void {
  on('POST /api/webhooks/:id/test', {
    ...words('testWebhook', 'Send a signed sample now, and see what the endpoint answers'),
    description: 'Of the event that is named, or of the first event of its filter.',
    params,
    body: requests.test,
    response: { 200: answers.testAnswerSchema },
    handle: act('test'),
  })
  on('GET /api/webhooks/:id/deliveries', {
    ...words('webhookAttempts', 'Attempts and their results, newest first'),
    params,
    querystring: requests.attempts,
    response: { 200: answers.attemptsAnswerSchema },
    handle: act('attempts'),
  })
  on('GET /api/webhooks/:id/retries', {
    ...words('webhookRetries', 'Deliveries that wait for another attempt'),
    params,
    response: { 200: answers.retriesAnswerSchema },
    handle: act('retries'),
  })
  on('GET /api/webhooks/:id/events', {
    ...words('webhookEvents', 'Pull the deliveries after a number'),
    description:
      'The same bodies with the same ids, whether they were delivered or not: for what a receiver missed. Signals whose window is open come only to a subscription whose endpoint accepted a delivery before.',
    params,
    querystring: requests.events,
    response: { 200: answers.eventsAnswerSchema },
    handle: act('events'),
  })
}
