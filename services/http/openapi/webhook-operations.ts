import type { ErrorCode } from '../../../contracts/errors.ts'
import type { Operations } from './operation.ts'

/** What every route of webhooks can refuse with. */
const KEY_ERRORS = [
  'unauthorized',
  'key_unknown',
  'key_unverifiable',
  'store_unavailable',
] as const satisfies readonly ErrorCode[]

/** And those about one subscription. */
const OWN_ERRORS = [
  ...KEY_ERRORS,
  'invalid_request',
  'subscription_unknown',
] as const satisfies readonly ErrorCode[]

/** Of questions that wait in line. */
const LINE_ERRORS = ['rate_limited', 'too_many_streams'] as const satisfies readonly ErrorCode[]

const own = { tag: 'webhooks', key: 'required' } as const
const parameters = { id: 'The `id` of the subscription' }

const managing: Operations = {
  'POST /api/webhooks': {
    ...own,
    id: 'createWebhook',
    summary: 'Subscribe an address to signals',
    description:
      'The answer holds the `secret` that signs deliveries. It is shown once: only a repeat with the same `Idempotency-Key` and the same request shows it again. What can never send anything is taken all the same, and named in `warnings`.',
    errors: [
      ...KEY_ERRORS,
      'invalid_request',
      'url_refused',
      'too_many_subscriptions',
      'idempotency_mismatch',
      'account_unknown',
      'rate_limited',
      'cache_unavailable',
    ],
    headers: { 'Idempotency-Key': 'Makes a repeat of this request safe: it answers what the first made' },
    bodyExample: {
      url: 'https://bot.example.com/hook',
      events: ['trade_call'],
      timeframes: ['1h'],
      assets: ['top:10'],
    },
  },
  'GET /api/webhooks': {
    ...own,
    id: 'webhooks',
    summary: 'The subscriptions of the account, and how each of them stands',
    errors: [...KEY_ERRORS, ...LINE_ERRORS, 'invalid_request'],
  },
  'GET /api/webhooks/:id': {
    ...own,
    id: 'webhook',
    summary: 'One subscription, and how many signals wait for it',
    errors: [...OWN_ERRORS, ...LINE_ERRORS],
    parameters,
  },
  'PATCH /api/webhooks/:id': {
    ...own,
    id: 'changeWebhook',
    summary: 'Change its filter, for signals from now on',
    description: 'What is left out stays as it is; null is as if it had been left out at first.',
    errors: [...OWN_ERRORS, 'subscription_state'],
    parameters,
    bodyExample: { timeframes: ['4h'], only_changes: true },
  },
  'DELETE /api/webhooks/:id': {
    ...own,
    id: 'deleteWebhook',
    summary: 'Delete it; once this is answered, nothing is sent any more',
    errors: OWN_ERRORS,
    parameters,
    answers: { 204: { description: 'It is deleted', content: {} } },
  },
  'POST /api/webhooks/:id/pause': {
    ...own,
    id: 'pauseWebhook',
    summary: 'Send nothing until it is resumed; nothing is lost',
    errors: [...OWN_ERRORS, 'subscription_state', 'subscription_stopped'],
    parameters,
  },
  'POST /api/webhooks/:id/resume': {
    ...own,
    id: 'resumeWebhook',
    summary: 'Go on after a pause or when it was disabled: where it stopped, from now, or from the past',
    errors: [...OWN_ERRORS, 'subscription_stopped'],
    parameters,
    bodyExample: { from: 'cursor' },
  },
  'POST /api/webhooks/:id/rotate-secret': {
    ...own,
    id: 'rotateWebhookSecret',
    summary: 'A new signing secret; it is shown once',
    errors: [...OWN_ERRORS, 'subscription_state'],
    parameters,
    bodyExample: { overlap_hours: 24 },
  },
  'POST /api/webhooks/:id/end-overlap': {
    ...own,
    id: 'endWebhookOverlap',
    summary: 'End the overlap of a rotation: from now on only the newest secret signs',
    errors: OWN_ERRORS,
    parameters,
  },
  'POST /api/webhooks/:id/test': {
    ...own,
    id: 'testWebhook',
    summary: 'Send a signed sample now, and see what the endpoint answers',
    errors: [...OWN_ERRORS, 'rate_limited', 'cache_unavailable', 'subscription_stopped'],
    parameters,
  },
  'POST /api/webhooks/:id/check-signature': {
    ...own,
    id: 'checkWebhookSignature',
    summary: 'Whether what your receiver got fits the secrets of this subscription',
    description: 'How long ago it was sent does not matter here; your receiver should refuse what is old.',
    errors: [...OWN_ERRORS, ...LINE_ERRORS],
    parameters,
    bodyExample: { timestamp: '1795392000', signature: '5d41…', body: '{"event":"trade_call"}' },
  },
  'POST /api/webhooks/:id/replay': {
    ...own,
    id: 'replayWebhook',
    summary: 'Send a window of the past again, or what of it failed, with the same ids and bodies',
    description: 'Its progress stands in `replays` of the subscription.',
    errors: [...OWN_ERRORS, ...LINE_ERRORS, 'subscription_state', 'subscription_stopped'],
    parameters,
    bodyExample: { from: '2026-01-01T00:00:00Z', only: 'failed' },
  },
  'POST /api/webhooks/:id/replays/:replay_id/cancel': {
    ...own,
    id: 'cancelWebhookReplay',
    summary: 'End a replay before its end; once this is answered, nothing more of it is begun',
    description: 'What was sent stays sent. One that is done stays done.',
    errors: [...OWN_ERRORS, 'replay_unknown'],
    parameters: { ...parameters, replay_id: 'The `replay_id` of the replay' },
  },
}

const deliveries: Operations = {
  'GET /api/webhooks/:id/deliveries': {
    ...own,
    id: 'webhookAttempts',
    summary: 'What was sent and what came of it, newest first',
    errors: [...OWN_ERRORS, ...LINE_ERRORS],
    parameters,
  },
  'GET /api/webhooks/:id/deliveries/:delivery_id': {
    ...own,
    id: 'webhookDelivery',
    summary: 'One delivery: its exact body, and all attempts',
    errors: [...OWN_ERRORS, ...LINE_ERRORS, 'delivery_unknown', 'delivery_withheld'],
    parameters: { ...parameters, delivery_id: 'The `delivery_id` of an attempt, or of a body' },
  },
  'GET /api/webhooks/:id/retries': {
    ...own,
    id: 'webhookRetries',
    summary: 'Deliveries that wait for another try',
    errors: [...OWN_ERRORS, ...LINE_ERRORS],
    parameters,
  },
  'GET /api/webhooks/:id/events': {
    ...own,
    id: 'webhookEvents',
    summary: 'Pull what was sent or is due, behind a number',
    description:
      'The same bodies with the same ids, whether they were delivered or not: for what a receiver missed. Signals whose window is open come only to a subscription whose endpoint took a delivery before.',
    errors: [...OWN_ERRORS, ...LINE_ERRORS],
    parameters,
  },
  'POST /api/webhooks/dry-run': {
    ...own,
    id: 'dryRunWebhook',
    summary: 'What a filter would have sent in the past',
    description: 'Signals whose window is open are neither shown nor counted.',
    errors: [...KEY_ERRORS, ...LINE_ERRORS, 'invalid_request', 'url_refused'],
    bodyExample: { events: ['trade_call'], timeframes: ['1h'], min_strength: 70 },
  },
}

export const webhookOperations: Operations = { ...managing, ...deliveries }
