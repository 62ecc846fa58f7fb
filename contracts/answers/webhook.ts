import { z } from 'zod'
import { exchangeSchema } from '../domain/series.ts'
import { CADENCES, SIGNAL_TYPES } from '../domain/subscription.ts'
import { timeframeSchema } from '../domain/timeframes.ts'
import { DELIVERY_RESULTS } from '../events/delivery-events.ts'
import { count, instant, textOrNull } from '../infra/field-schemas.ts'
import { positionSchema } from '../infra/position.ts'
import { nextSchema } from './parameters.ts'

const instantOrNull = instant.nullable()

const sequence = z.int().positive()

/** The choices of an owner as answers show them, every field. */
const chosenFields = {
  events: z.array(z.enum(SIGNAL_TYPES)),
  timeframes: z.array(timeframeSchema).nullable().describe('Null: all'),
  assets: z.array(z.string()).nullable().describe('Null: all'),
  exchanges: z.array(exchangeSchema).nullable().describe('Null: all'),
  min_confidence: count,
  min_strength: count,
  only_changes: z.boolean(),
  timeframe: timeframeSchema.nullable().describe('Of scan_digest; null without it'),
  exchange: exchangeSchema.nullable(),
  top_n: sequence.nullable(),
  cadence: z.enum(CADENCES).nullable(),
  max_per_second: sequence.nullable().describe('Null: as many as it takes'),
  in_order: z.boolean().describe('One after the other'),
}

const stateFields = {
  state: z.enum(['active', 'paused', 'disabled', 'stopped']).describe('`stopped`: by the operator'),
  reason: textOrNull.describe('Why it is paused, disabled or stopped'),
  state_since: instant,
  created_at: instant,
  cursor: z
    .object({ position: positionSchema, sequence })
    .describe('Signals after `position` are numbered from `sequence` on'),
  last_attempt_at: instantOrNull,
  last_success_at: instantOrNull,
  failures_in_a_row: count.describe('Attempts since the newest success'),
  failing_since: instantOrNull.describe('The first of five failures in a row or more; it is probed since'),
  retries_open: count.describe('Deliveries that wait for another try'),
  next_attempt_at: instantOrNull.describe('When the next attempt is due; null if none is'),
  counts: z.object({
    delivered: count,
    failed: count.describe('Attempts, not deliveries'),
    exhausted: count.describe('Deliveries that were given up'),
    skipped: count.describe('Deliveries that a move of the cursor gave up'),
  }),
}

/** A subscription as its owner sees it. */
export const subscriptionAnswerSchema = z.object({
  id: z.uuid(),
  url: z.string(),
  ...chosenFields,
  ...stateFields,
  secrets_signing: sequence.describe('Secrets that sign each delivery; several while a rotation overlaps'),
  warnings: z.array(z.string()).describe('Why deliveries wait; what of the filter never matches'),
})
export type SubscriptionAnswer = z.infer<typeof subscriptionAnswerSchema>

/** The answer of a creation. */
export const createdSubscriptionAnswerSchema = subscriptionAnswerSchema.extend({
  secret: z.string().describe('Signs deliveries. It is not shown again'),
})

export const subscriptionsAnswerSchema = z.object({
  webhooks: z.array(subscriptionAnswerSchema).describe('In the order of their creation'),
  needs_review: count.describe('How many are disabled or stopped; `?status=disabled` lists them'),
  next: nextSchema,
})

/** A subscription as the operator sees it: without its address, which may hold secrets of its owner. */
export const operatorSubscriptionSchema = z.object({
  id: z.uuid(),
  account_id: z.uuid(),
  origin: textOrNull.describe('Its address without path and query; null once its account is erased'),
  ...chosenFields,
  ...stateFields,
})
export type OperatorSubscription = z.infer<typeof operatorSubscriptionSchema>

export const operatorSubscriptionsSchema = z.object({
  webhooks: z.array(operatorSubscriptionSchema),
  next: z.uuid().nullable(),
})

export const rotatedSecretAnswerSchema = z.object({
  secret: z.string().describe('Signs `X-Service-Signature-Next` until `overlap_until`'),
  overlap_until: instant.describe('Until when those before it sign beside it'),
})

export const testAnswerSchema = z.object({
  delivery_id: z.uuid(),
  event: z.enum(SIGNAL_TYPES),
  accepted: z.boolean().describe('Whether the endpoint answered with a status from 200 to 299'),
  outcome: z.enum(['answered', 'connect_failed', 'timed_out', 'broken_off', 'url_refused', 'aborted']),
  status: z.int().nullable().describe('Null where there was no answer'),
  latency_ms: z.number(),
  detail: z.string().describe('The first bytes of the answer, or what went wrong'),
})

export const recoveryAnswerSchema = z.object({
  deliveries: count.describe('How many that were given up are tried again'),
})

const attemptSchema = z.object({
  delivery_id: z.uuid(),
  sequence,
  event_id: z.uuid().nullable().describe('Null while your endpoint has never taken a delivery'),
  attempt: count.describe('From 1; probes of a failing endpoint do not count; 0 if nothing was sent'),
  at: instant,
  duration_ms: z.number(),
  result: z.enum(DELIVERY_RESULTS),
  status: z.int().nullable(),
  reason: textOrNull,
  detail: textOrNull.describe('First bytes of the answer, or what went wrong'),
  next_at: instantOrNull.describe('When it is tried again'),
})

export const attemptsAnswerSchema = z.object({
  attempts: z.array(attemptSchema).describe('Newest first'),
  next: nextSchema,
})

export const retriesAnswerSchema = z.object({
  retries: z.array(
    attemptSchema
      .pick({ delivery_id: true, sequence: true, status: true, reason: true })
      .extend({ attempts: count, first_at: instant, last_at: instant, next_at: instant }),
  ),
})

/** Bodies of deliveries that were tried. */
export const eventsAnswerSchema = z.object({
  events: z.array(
    z.object({
      event: z.enum(SIGNAL_TYPES),
      delivery_id: z.uuid(),
      created_at: instant,
      sequence,
      data: z.record(z.string(), z.json()),
    }),
  ),
  next: nextSchema,
})
