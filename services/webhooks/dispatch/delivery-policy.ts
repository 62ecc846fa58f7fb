import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { DeliveryResult, OpenDelivery } from '../../../contracts/events/delivery-events.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { SendOutcome } from '../sending/sender.ts'
import { isSending, type Subscription } from '../state/subscription-state.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** Pause after an attempt; the first is made at once. */
export const RETRY_STEPS_MS = [
  0,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
] as const

/** Spreads what failed together. */
const JITTER = 0.2
/** A `Retry-After` is waited for up to this many times the step, and an hour at least. */
const RETRY_AFTER_STEPS = 4

/** Failures in a row after which an endpoint gets one attempt at a time, so far apart. */
const FAILURES_TO_BREAK = 5
const PROBE_FIRST_MS = 10 * SECOND_MS
const PROBE_LONGEST_MS = 15 * MINUTE_MS
/** An endpoint is disabled after so long without a success, if it was tried so often. */
const DISABLE_AFTER_MS = 5 * DAY_MS
const DISABLE_FAILURES = 20
/** An endpoint that has failed for so long is worth a mail. */
const MAIL_AFTER_MS = HOUR_MS

/** The standing of an endpoint by its delivery log. Times are Unix milliseconds. */
type Standing = Pick<Deliveries, 'failuresInARow' | 'firstFailureAt' | 'lastAttemptAt' | 'notBefore'>

/** Whether an endpoint fails again and again: it is only probed until it takes a delivery. */
export const isFailing = ({ failuresInARow }: Pick<Standing, 'failuresInARow'>): boolean =>
  failuresInARow >= FAILURES_TO_BREAK

/** Pause after an attempt at an endpoint that fails: as long as it has failed, from 10 s to 15 min. */
const probePauseMs = (firstFailureAt: number, at: number): number =>
  Math.min(PROBE_LONGEST_MS, Math.max(PROBE_FIRST_MS, at - firstFailureAt))

/** Until when nothing is sent to an endpoint: it fails, or asked for that with `Retry-After`. */
function restsUntil(standing: Standing): number {
  const { firstFailureAt, lastAttemptAt, notBefore } = standing
  const last = lastAttemptAt ?? 0
  const probeAt = isFailing(standing) ? last + probePauseMs(firstFailureAt ?? last, last) : 0
  return Math.max(notBefore ?? 0, probeAt)
}

/**
 * Milliseconds until the next attempt at an endpoint. It follows from the log alone, so a restart goes on where it was.
 * After the clock was set back it counts from the last attempt: nothing waits for a clock to catch up.
 */
export const endpointRestMs = (standing: Standing, wallMs: number): number =>
  Math.max(0, restsUntil(standing) - Math.max(wallMs, standing.lastAttemptAt ?? 0))

/** Milliseconds until a pending delivery is tried again, counted in the same way. */
export const retryInMs = (
  { lastAt, nextAt }: Pick<OpenDelivery, 'lastAt' | 'nextAt'>,
  wallMs: number,
): number => Math.max(0, nextAt - Math.max(wallMs, lastAt))

/** Latest time of the next attempt at an endpoint; now where that is overdue. Null where none waits, or nothing is sent. */
export function nextAttemptAt(
  subscription: Subscription,
  deliveries: Standing & Pick<Deliveries, 'open'>,
  now: number,
): number | null {
  const waiting = [...deliveries.open.values()]
  if (waiting.length === 0 || !isSending(subscription)) return null
  const first = isFailing(deliveries) ? 0 : Math.min(...waiting.map(({ nextAt }) => nextAt))
  return Math.max(now, first, restsUntil(deliveries))
}

/**
 * The pending delivery that an endpoint which fails is probed with: the one whose attempt is longest ago, so that one
 * refused body keeps no other from being tried.
 */
export function oldestTried(open: Deliveries['open']): number | undefined {
  let oldest: OpenDelivery | undefined
  for (const delivery of open.values()) if (delivery.lastAt < (oldest?.lastAt ?? Infinity)) oldest = delivery
  return oldest?.sequence
}

/**
 * When a delivery is tried again; undefined when it has been tried as often as it is.
 *
 * @param attempts made so far, the failed one included
 * @param retryAfterMs what the endpoint asked for
 * @param random uniform in [0, 1)
 * @example retryAt({ attempts: 1, at: now, retryAfterMs: undefined, random: 0.5 }) === now + 5_000
 */
export function retryAt(failed: {
  readonly attempts: number
  readonly at: number
  readonly retryAfterMs: number | undefined
  readonly random: number
}): number | undefined {
  assert(failed.attempts >= 1, 'a retry follows an attempt', failed.attempts)
  const step = RETRY_STEPS_MS[failed.attempts]
  if (step === undefined) return undefined
  const asked = Math.min(failed.retryAfterMs ?? 0, Math.max(RETRY_AFTER_STEPS * step, HOUR_MS))
  const jittered = Math.round(step * (1 - JITTER + 2 * JITTER * failed.random))
  return failed.at + Math.max(jittered, asked)
}

export interface EndedAttempt {
  readonly outcome: SendOutcome
  /** Counted attempts before this one. */
  readonly attemptsBefore: number
  readonly at: number
  readonly random: number
}

/** Consequences of an attempt for its delivery and for its endpoint. */
export interface AttemptDecision {
  readonly result: Exclude<DeliveryResult, 'skipped'>
  /** Counted attempts, this one included where it counts. */
  readonly attempts: number
  readonly reason: string | null
  readonly nextAt: number | null
  /** The reason for which the endpoint is disabled; undefined where it is not. */
  readonly disable: string | undefined
  /** Tells the owner that it has failed for an hour; undefined where that is not new. */
  readonly failing: { readonly since: number; readonly reason: string } | undefined
}

const GONE_STATUS = 410

/** Statuses below 500 that speak of the endpoint, of who asks, or of the moment, and not of the body. */
const ABOUT_THE_ENDPOINT: ReadonlySet<number> = new Set([401, 403, 404, 408, GONE_STATUS, 429])

/** Whether an endpoint that works has refused what it was sent, as it will every time. */
const isBodyRefused = ({ status = 0 }: SendOutcome): boolean =>
  status >= 400 && status < 500 && !ABOUT_THE_ENDPOINT.has(status)

const isSuccess = ({ status = 0 }: SendOutcome): boolean => status >= 200 && status < 300

/** A word for the log. */
const reasonFor = ({ kind, status }: SendOutcome): string =>
  kind === 'answered' ? (status === GONE_STATUS ? 'gone' : 'status') : kind

const inWords = ({ kind, status }: SendOutcome): string =>
  kind === 'answered' ? `answered ${status}` : kind.replaceAll('_', ' ')

/**
 * Decides what follows from an attempt. Only 2xx is success. Attempts at an endpoint that fails use up none of a
 * delivery, since they say nothing about it, unless it was the body that was refused: no other state of the endpoint
 * will make it acceptable, and the delivery must not stay for ever.
 */
export function decideAttempt(before: Standing, ended: EndedAttempt): AttemptDecision {
  const { outcome, attemptsBefore, at, random } = ended
  assert(attemptsBefore >= 0, 'attempts are counted from 0', attemptsBefore)
  assert(
    !isFailing(before) || before.firstFailureAt !== null,
    'who fails has begun to',
    before.failuresInARow,
  )
  const isCounted = !isFailing(before) || isBodyRefused(outcome)
  const attempts = isCounted ? attemptsBefore + 1 : attemptsBefore
  if (isSuccess(outcome)) {
    const nothing = { reason: null, nextAt: null, disable: undefined, failing: undefined }
    return { result: 'delivered', attempts, ...nothing }
  }
  const since = before.firstFailureAt ?? at
  const { retryAfterMs = 0 } = outcome
  const nextAt = isCounted
    ? retryAt({ attempts, at, retryAfterMs, random })
    : at + Math.max(probePauseMs(since, at), retryAfterMs)
  assert(nextAt === undefined || nextAt > at, 'the next attempt comes after the last', nextAt)
  return {
    result: nextAt === undefined ? 'exhausted' : 'failed',
    attempts,
    reason: reasonFor(outcome),
    nextAt: nextAt ?? null,
    disable: disableReason(before, outcome, at - since),
    failing: failingSince(before, outcome, at),
  }
}

function disableReason(
  { failuresInARow }: Standing,
  outcome: SendOutcome,
  failingMs: number,
): string | undefined {
  if (outcome.status === GONE_STATUS) return 'answered 410 Gone'
  if (failingMs < DISABLE_AFTER_MS || failuresInARow + 1 < DISABLE_FAILURES) return undefined
  return `5 days without a success, the last attempt: ${inWords(outcome)}`
}

/** Found with the first attempt after the hour, so that no restart tells it twice. */
function failingSince(before: Standing, outcome: SendOutcome, at: number): AttemptDecision['failing'] {
  const { firstFailureAt, lastAttemptAt } = before
  if (!isFailing(before) || firstFailureAt === null) return undefined
  const mailAt = firstFailureAt + MAIL_AFTER_MS
  if (at < mailAt || (lastAttemptAt ?? at) >= mailAt) return undefined
  const reason = `${before.failuresInARow + 1} failures in a row, the last: ${inWords(outcome)}`
  return { since: firstFailureAt, reason }
}
