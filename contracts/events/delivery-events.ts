import { z } from 'zod'
import { timeMs } from '../infra/field-schemas.ts'
import { positionSchema } from '../infra/position.ts'
import { LIMITS } from '../limits.ts'
import { defineEvent } from './event-definition.ts'

const stream = 'delivery-{subscription}'
const sequence = z.int().positive()

/** A skipped delivery was not sent, and will not be; a failed one is tried again, an exhausted one is not. */
export const DELIVERY_RESULTS = ['delivered', 'failed', 'exhausted', 'skipped'] as const
export type DeliveryResult = (typeof DELIVERY_RESULTS)[number]

/** The cursor of a subscription: signals after the position `after` are numbered from `sequence` on. */
export const deliveryCursorSchema = z.object({ after: positionSchema, sequence })
export type DeliveryCursor = z.infer<typeof deliveryCursorSchema>

/** A delivery and the event it is about: everything but the address that its body is made of. */
const deliveryFields = {
  deliveryId: z.uuid(),
  sequence,
  eventId: z.uuid(),
  /** Position of the event in the log, and its revision in its stream, from which it is read again. */
  position: positionSchema,
  stream: z.string().min(1).max(LIMITS.streamNameCharacters),
  revision: z.int().nonnegative(),
  /** Rows of a digest; null for other signals. */
  topN: z.int().min(1).max(100).nullable(),
}

/** How an attempt ended. */
const endFields = {
  /** From 1; attempts at an endpoint that fails again and again count only where it refused the body. 0 where nothing was ever sent. */
  attempt: z.int().nonnegative(),
  /** HTTP status; null where there was no answer. */
  status: z.int().nonnegative().max(999).nullable(),
  /** Why it was not delivered, as a word: `status`, `timed_out`, …; null where it was. */
  reason: z.string().min(1).max(64).nullable(),
}

/** Sealed under the key of the subscription's account, since it may name the host or repeat what is personal. */
export const attemptDetailSchema = z.strictObject({
  sealed: z.string().min(1).max(LIMITS.webhookSealedAnswerCharacters),
})
export type AttemptDetail = z.infer<typeof attemptDetailSchema>

export const deliveryAttemptSchema = z.object({
  ...deliveryFields,
  ...endFields,
  /** When it began. */
  at: timeMs,
  durationMs: z.number().nonnegative(),
  /** How long it waited for its turn at a host that free accounts share. */
  hostWaitMs: z.number().nonnegative(),
  result: z.enum(DELIVERY_RESULTS),
  /** First bytes of the answer, or what went wrong in words; null where it was delivered. */
  detail: attemptDetailSchema.nullable(),
  /** When it is tried again; null where it is not. */
  nextAt: timeMs.nullable(),
  /** Until when the endpoint asked to be left alone; null where it did not. */
  notBefore: timeMs.nullable(),
})
export type DeliveryAttempt = z.infer<typeof deliveryAttemptSchema>

/** A delivery that was tried and is to be tried again. */
export const openDeliverySchema = z.object({
  ...deliveryFields,
  ...endFields,
  firstAt: timeMs,
  lastAt: timeMs,
  nextAt: timeMs,
})
export type OpenDelivery = z.infer<typeof openDeliverySchema>

const postsSchema = z.object({ from: timeMs, count: z.int().nonnegative() })

/** Everything a process must know to go on with a subscription. */
export const deliveryStateSchema = z.object({
  /** Every delivery numbered below the cursor is finished or in `open`. */
  cursor: deliveryCursorSchema,
  open: z.array(openDeliverySchema).max(LIMITS.webhookOpenDeliveries + LIMITS.webhookAttemptsAtOnce),
  /** Finished ones at or after the cursor, with one before them that is not yet. */
  finishedAbove: z.array(z.object({ sequence, position: positionSchema })),
  /** Revision of the newest resumption of the subscription that moved the cursor; null before the first. */
  movedBy: z.int().nonnegative().nullable(),
  /** Revision of the newest request of its owner after which what was given up waits again; null before the first. */
  recoveredBy: z.int().nonnegative().nullable(),
  lastAttemptAt: timeMs.nullable(),
  lastSuccessAt: timeMs.nullable(),
  /** Attempts since the newest success, and when the first of them was. */
  failuresInARow: z.int().nonnegative(),
  firstFailureAt: timeMs.nullable(),
  /** Until when the endpoint asked to be left alone; null where it did not, or has taken one since. */
  notBefore: timeMs.nullable(),
  /** POSTs in the newest minute, and in the newest UTC day, that had one: since when, and how many. */
  posts: z.object({ minute: postsSchema, day: postsSchema }),
  /** How long the newest attempt waited for its turn at a host that free accounts share. */
  hostWaitMs: z.number().nonnegative(),
  counts: z.object({
    delivered: z.int().nonnegative(),
    /** Attempts, not deliveries. */
    failed: z.int().nonnegative(),
    exhausted: z.int().nonnegative(),
    skipped: z.int().nonnegative(),
  }),
})
export type DeliveryState = z.infer<typeof deliveryStateSchema>

const subscriptionId = z.uuid()
/** Fencing token of the lease under which this was appended. */
const token = z.int().nonnegative()

export const CursorTaken = defineEvent('CursorTaken', stream, {
  summary: "A process took over the deliveries of a subscription; the former holder's appends now fail.",
  data: z.object({ subscriptionId, token, holder: z.string().min(1).max(128), state: deliveryStateSchema }),
})

export const DeliveriesAttempted = defineEvent('DeliveriesAttempted', stream, {
  summary: 'Results of several delivery attempts, and the cursor after them.',
  data: z.object({
    subscriptionId,
    token,
    cursor: deliveryCursorSchema,
    attempts: z.array(deliveryAttemptSchema).min(1).max(LIMITS.webhookAttemptsPerEvent),
  }),
})

export const CursorMoved = defineEvent('CursorMoved', stream, {
  summary: 'A snapshot of the cursor and all open retries: earlier events need not be read.',
  data: z.object({ subscriptionId, token, state: deliveryStateSchema }),
})
