import { z } from 'zod'
import { exactInstantParameter, pageCursor, rowsParameter } from '../../contracts/answers/parameters.ts'
import type {
  eventsAnswerSchema,
  OperatorSubscription,
  SubscriptionAnswer,
} from '../../contracts/answers/webhook.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import { SIGNAL_TYPES } from '../../contracts/domain/subscription.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { DELIVERY_RESULTS } from '../../contracts/events/delivery-events.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Identify } from '../accounts/index.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { callerAs } from '../tool-calls/index.ts'
import {
  type ChangeRequest,
  currentFilter,
  type DeliveryQueries,
  filterChangeSchema,
  filterFields,
  isFailing,
  nextAttemptAt,
  type Subscriptions,
  type SubscriptionView,
  sendingFields,
  toFilterFields,
  toSendingFields,
} from '../webhooks/index.ts'

export const subscriptionParams = z.strictObject({
  id: z.uuid().toLowerCase().describe('The `id` of the subscription'),
})

/** A position of the log, an instant, or a word. */
const pointSchema = z.string().min(1).max(64)

const urlSchema = z
  .string()
  .min(1)
  .max(LIMITS.webhookUrlCharacters)
  .describe('A public HTTPS address on port 443 or 8443')

const limit = rowsParameter(LIMITS.webhookRows, 50)
const after = z.string().min(1).max(64)

/** The requests of the actions on webhooks, without the id of the subscription. */
export const webhookRequests = {
  create: z
    .strictObject({
      url: urlSchema,
      ...filterFields,
      ...sendingFields,
      start: pointSchema
        .default('now')
        .describe(
          `Signals after this: \`now\`, a position, or an ISO 8601 instant, at most ${LIMITS.webhookPastMs / (24 * HOUR_MS)} days back`,
        ),
    })
    .refine(({ url }) => /^https?:\/\/[^/]/i.test(url), {
      path: ['url'],
      error: 'must begin with https:// and a host',
      // Alone, a wrong address is refused by where it leads: `url_refused` says more.
      when: ({ value, issues }) =>
        typeof (value as { url?: unknown } | null)?.url === 'string' && issues.length > 0,
    }),
  change: filterChangeSchema.extend({ url: urlSchema.optional(), ...sendingFields }),
  list: z.strictObject({
    status: z
      .enum(['active', 'disabled', 'all'])
      .default('active')
      .describe('`active`: those that are paused included; `disabled`; `all`'),
    after: pageCursor(/^\d{15}\.[0-9a-f-]{36}$/, 'Those after these').optional(),
    limit,
  }),
  resume: z
    .strictObject({
      from: z
        .enum(['cursor', 'now', 'since'])
        .default('cursor')
        .describe('Go on where it stopped, leave out what lies between, or begin after `since`'),
      since: pointSchema.optional().describe('A position or an instant; with `from: "since"`'),
    })
    .refine(({ from, since }) => (from === 'since') === (since !== undefined), {
      path: ['since'],
      error: 'goes with `from: "since"`, and only with it',
    }),
  rotate: z.strictObject({
    overlap_hours: z
      .number()
      .min(0)
      .max(LIMITS.secretOverlapMaxMs / HOUR_MS)
      .default(LIMITS.secretOverlapMs / HOUR_MS)
      .describe('How long the secrets before it sign beside it'),
  }),
  test: z.strictObject({ event: z.enum(SIGNAL_TYPES).optional() }),
  recover: z.strictObject({
    since: exactInstantParameter.describe(
      'Retries deliveries given up at this instant or later, oldest first',
    ),
  }),
  attempts: z.strictObject({
    after: after.optional().describe('Those after these: the `next` of the answer before'),
    limit,
    result: z.enum(DELIVERY_RESULTS).optional().describe('Only attempts that ended so'),
  }),
  events: z.strictObject({
    after: after
      .default('0')
      .describe('Those after this: the number of the last delivery you have, or the `next` of an answer'),
    limit,
  }),
}
type Requested<Act extends keyof typeof webhookRequests> = z.output<(typeof webhookRequests)[Act]>

export interface WebhookService extends Pick<Clock, 'now'> {
  readonly subscriptions: Subscriptions
  readonly queries: DeliveryQueries
  /** Finds the account of a request by its credential. */
  readonly identify: Identify
}

/** The account whose key came with a request. */
export type WebhookOwner = Pick<ReturnType<typeof callerAs>, 'accountId' | 'origin'>

type One = z.output<typeof subscriptionParams>
type EventBody = z.infer<typeof eventsAnswerSchema>['events'][number] & JsonObject

/** The actions of an owner on webhooks, in the fields of the interface: the same over HTTP and MCP. */
export const webhookHandlers = (service: WebhookService) => (owner: WebhookOwner) => ({
  ...subscriptionHandlers(service, owner),
  ...deliveryHandlers(service, owner),
})

function subscriptionHandlers({ subscriptions, now }: WebhookService, { accountId, origin }: WebhookOwner) {
  const shown = (view: SubscriptionView): SubscriptionAnswer => {
    const { secrets } = view.subscription
    const signing = secrets.filter(({ signsUntil }) => signsUntil === null || signsUntil > now())
    const warnings = [...subscriptions.warnings(view)]
    return { ...commonFields(view), url: view.url ?? '', secrets_signing: signing.length, warnings }
  }
  return {
    async create(input: Requested<'create'>) {
      const made = await subscriptions.create(accountId, input, origin)
      assert(made.secret !== '', 'a webhook that is made has a secret')
      return { ...shown(made), secret: made.secret }
    },
    async list(query: Requested<'list'>) {
      const { rows, next, needsReview } = await subscriptions.list(accountId, query)
      return { webhooks: rows.map(shown), needs_review: needsReview, next }
    },
    show: async ({ id }: One) => shown(await subscriptions.show(accountId, id)),
    change: async ({ id, ...change }: One & ChangeRequest) =>
      shown(await subscriptions.change(accountId, id, change, origin)),
    remove: ({ id }: One) => subscriptions.remove(accountId, id, origin),
    pause: async ({ id }: One) => shown(await subscriptions.pause(accountId, id, origin)),
    resume: async ({ id, from, since }: One & Requested<'resume'>) =>
      shown(await subscriptions.resume(accountId, id, { from, since }, origin)),
    async rotate({ id, overlap_hours: hours }: One & Requested<'rotate'>) {
      const rotated = await subscriptions.rotateSecret(accountId, id, Math.round(hours * HOUR_MS), origin)
      return { secret: rotated.secret, overlap_until: isoTime(rotated.overlapUntil) }
    },
    async test({ id, event }: One & Requested<'test'>) {
      const sample = await subscriptions.test(accountId, id, event)
      return {
        delivery_id: sample.deliveryId,
        event: sample.event,
        accepted: sample.isAccepted,
        outcome: sample.outcome.kind,
        status: sample.outcome.status ?? null,
        latency_ms: sample.outcome.durationMs,
        detail: sample.outcome.detail,
      }
    },
    recover: async ({ id, since }: One & Requested<'recover'>) => ({
      deliveries: await subscriptions.recover(accountId, id, Date.parse(since), origin),
    }),
  }
}

function deliveryHandlers({ subscriptions, queries }: WebhookService, { accountId }: WebhookOwner) {
  return {
    async attempts({ id, ...query }: One & Requested<'attempts'>) {
      const subscription = await subscriptions.find(accountId, id)
      const { rows, next } = await queries.attempts(id, query)
      const opened = await subscriptions.openAttempts(subscription, rows)
      const attempts = opened.map((attempt) => ({
        delivery_id: attempt.deliveryId,
        sequence: attempt.sequence,
        event_id: attempt.eventId,
        attempt: attempt.attempt,
        at: isoTime(attempt.at),
        duration_ms: attempt.durationMs,
        result: attempt.result,
        status: attempt.status,
        reason: attempt.reason,
        detail: attempt.detail,
        next_at: timeOrNull(attempt.nextAt),
      }))
      return { attempts, next }
    },
    async retries({ id }: One) {
      const waiting = await queries.open(await subscriptions.find(accountId, id))
      const retries = waiting.map((open) => ({
        delivery_id: open.deliveryId,
        sequence: open.sequence,
        attempts: open.attempt,
        status: open.status,
        reason: open.reason,
        first_at: isoTime(open.firstAt),
        last_at: isoTime(open.lastAt),
        next_at: isoTime(open.nextAt),
      }))
      return { retries }
    },
    async events({ id, ...query }: One & Requested<'events'>) {
      const { rows, next } = await queries.missed(await subscriptions.find(accountId, id), query)
      return { events: rows.map(({ body }) => JSON.parse(body.toString('utf8')) as EventBody), next }
    },
  }
}

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

/** The fields that an owner and the operator both see. */
const commonFields = ({ subscription, deliveries, at: readAt }: SubscriptionView) => ({
  id: subscription.subscriptionId,
  ...toFilterFields(currentFilter(subscription)),
  ...toSendingFields(subscription.sending),
  // Views are of those that are not removed.
  state: subscription.state as OperatorSubscription['state'],
  reason: subscription.reason,
  state_since: isoTime(subscription.stateSince),
  created_at: isoTime(subscription.createdAt),
  cursor: { position: deliveries.cursor.after, sequence: deliveries.cursor.sequence },
  last_attempt_at: timeOrNull(deliveries.lastAttemptAt),
  last_success_at: timeOrNull(deliveries.lastSuccessAt),
  failures_in_a_row: deliveries.failuresInARow,
  failing_since: timeOrNull(isFailing(deliveries) ? deliveries.firstFailureAt : null),
  retries_open: deliveries.open.size,
  next_attempt_at: timeOrNull(nextAttemptAt(subscription, deliveries, readAt)),
  counts: deliveries.counts,
})

export const toOperatorSubscription = (view: SubscriptionView): OperatorSubscription => ({
  ...commonFields(view),
  account_id: view.subscription.accountId,
  origin: view.origin,
})
