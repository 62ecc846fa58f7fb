import { assert } from '../../../contracts/assert.ts'
import type { DeliveryResult } from '../../../contracts/delivery-events.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { SendOutcome } from '../sending/sender.ts'
import type { Subscription } from '../state/subscription-state.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** How long after an attempt the next one is made; the first is made at once. */
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
const RETRY_AFTER_LEAST_MS = HOUR_MS

/** The first probe of a degraded endpoint, and the longest time between two. */
const PROBE_FIRST_MS = 10 * SECOND_MS
const PROBE_LONGEST_MS = 15 * MINUTE_MS

/** An endpoint that said that it is gone is asked once more after this. */
const GONE_AGAIN_MS = HOUR_MS

const jittered = (milliseconds: number, random: number): number =>
  Math.round(milliseconds * (1 - JITTER + 2 * JITTER * random))

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
  const asked = Math.min(failed.retryAfterMs ?? 0, Math.max(RETRY_AFTER_STEPS * step, RETRY_AFTER_LEAST_MS))
  return failed.at + Math.max(jittered(step, failed.random), asked)
}

/**
 * When a degraded endpoint is probed again: 10 s after it was degraded, then after as long as it has been so, which
 * doubles from probe to probe, up to 15 min, and no earlier than it asked for. It follows from the log alone, so a
 * restart goes on where it was.
 *
 * @param degradedAt Unix milliseconds, as is `lastProbeAt`: when it was tried last, before or after it was degraded
 * @param askedMs for how long after that it asked to be left alone
 */
export function probeAt(degraded: {
  readonly degradedAt: number
  readonly lastProbeAt: number
  readonly askedMs: number
  readonly isGone: boolean
  readonly random: number
}): number {
  const from = Math.max(degraded.degradedAt, degraded.lastProbeAt)
  const asked = degraded.lastProbeAt + degraded.askedMs
  if (degraded.isGone) return Math.max(asked, from + GONE_AGAIN_MS)
  const wait = Math.min(PROBE_LONGEST_MS, Math.max(PROBE_FIRST_MS, from - degraded.degradedAt))
  assert(wait >= PROBE_FIRST_MS && wait <= PROBE_LONGEST_MS, 'probes keep their distance', wait)
  return Math.max(asked, from + jittered(wait, degraded.random))
}

/** The time after the newest attempt in which an endpoint asked to be left alone. */
export const askedMs = (deliveries: Pick<Deliveries, 'lastAttemptAt' | 'notBefore'> | undefined): number =>
  Math.max(0, (deliveries?.notBefore ?? 0) - (deliveries?.lastAttemptAt ?? 0))

/**
 * Latest time of the next attempt at an endpoint, by its log; now where that is overdue. Null without an open delivery,
 * and for an endpoint that is neither active nor degraded.
 */
export function nextAttemptAt(
  { state, stateSince, reason }: Pick<Subscription, 'state' | 'stateSince' | 'reason'>,
  deliveries: Pick<Deliveries, 'open' | 'lastAttemptAt' | 'notBefore'>,
  now: number,
): number | null {
  const { open, lastAttemptAt } = deliveries
  if (open.size === 0 || (state !== 'active' && state !== 'degraded')) return null
  if (state === 'active') return Math.max(now, Math.min(...[...open.values()].map(({ nextAt }) => nextAt)))
  const probe = probeAt({
    degradedAt: stateSince,
    lastProbeAt: lastAttemptAt ?? stateSince,
    askedMs: askedMs(deliveries),
    isGone: reason === GONE_REASON,
    random: 1,
  })
  return Math.max(now, probe)
}

/**
 * Milliseconds until an open delivery is tried again. After the clock was set back they count from the last try, so that
 * nothing waits for the clock to catch up.
 */
export const dueInMs = (
  { lastAt, nextAt }: { readonly lastAt: number; readonly nextAt: number },
  wallMs: number,
): number => Math.max(0, nextAt - Math.max(wallMs, lastAt))

/** The health of an endpoint before an attempt that has ended. Times are Unix milliseconds. */
export interface EndpointHealth {
  readonly state: 'active' | 'degraded'
  /** Since when it has been degraded without a break; undefined while it is active. */
  readonly degradedAt: number | undefined
  /** Since when it has said that it is gone; undefined where it did not. */
  readonly goneAt: number | undefined
  readonly failuresInARow: number
  /** The latest of those failures that did not reach it: refused connections, timeouts, refused addresses. */
  readonly unreachableInARow: number
  /** Time of the first failure in a row; undefined without one. */
  readonly firstFailureAt: number | undefined
}

export interface EndedAttempt {
  readonly outcome: SendOutcome
  /** Counted attempts before this one. */
  readonly attemptsBefore: number
  /** Made while the endpoint was degraded: it counts only where the endpoint refused this very body. */
  readonly isProbe: boolean
  readonly at: number
  readonly random: number
}

/** The consequences of an attempt for its delivery and for its endpoint. */
export interface AttemptDecision {
  readonly result: Exclude<DeliveryResult, 'skipped'>
  /** Counted attempts, this one included where it counts. */
  readonly attempts: number
  readonly reason: string | null
  readonly nextAt: number | null
  readonly health: EndpointHealth
  /** The change of the endpoint that its log records; undefined where nothing is new. */
  readonly change: Change | undefined
}

/** A change of an endpoint that an attempt caused. */
export type Change =
  | { readonly kind: 'recovered' }
  | { readonly kind: 'degraded' | 'disabled'; readonly reason: string }

/** Failures in a row with which an endpoint is degraded: any, and of those that did not reach it. */
export const FAILURES_TO_DEGRADE = 5
export const UNREACHABLE_TO_DEGRADE = 3
/** An endpoint is disabled after so long without a success, if it was tried so often, over so long. */
const DISABLE_AFTER_MS = 5 * DAY_MS
const DISABLE_ATTEMPTS = 20
const DISABLE_SPAN_MS = 12 * HOUR_MS

export const GONE_REASON = 'answered 410 Gone'
const GONE_STATUS = 410

const isSuccess = ({ status }: SendOutcome): boolean => status !== undefined && status >= 200 && status < 300

/** Statuses below 500 that speak of the endpoint, of who asks, or of the moment, and not of the body. */
const ABOUT_THE_ENDPOINT: ReadonlySet<number> = new Set([401, 403, 404, 408, GONE_STATUS, 429])

/** Whether an endpoint that works has refused what it was sent, as it will every time. */
const isBodyRefused = ({ status = 0 }: SendOutcome): boolean =>
  status >= 400 && status < 500 && !ABOUT_THE_ENDPOINT.has(status)

/** Whether the endpoint may have seen what was sent, and failed because of it. */
export const hasReached = ({ kind }: Pick<SendOutcome, 'kind'>): boolean =>
  kind !== 'connect_failed' && kind !== 'url_refused'

/** A word for the log. */
const reasonFor = ({ kind, status }: SendOutcome): string =>
  kind === 'answered' ? (status === GONE_STATUS ? 'gone' : 'status') : kind

const inWords = ({ kind, status }: SendOutcome): string =>
  kind === 'answered' ? `answered ${status}` : kind.replaceAll('_', ' ')

/**
 * Decides the consequences of an attempt. Only 2xx is success. Failures of a degraded endpoint use up no attempts,
 * since they say nothing about the delivery, unless it was the body that was refused: no other endpoint state will
 * make it acceptable, and the delivery must not stay for ever.
 */
export function decideAttempt(before: EndpointHealth, ended: EndedAttempt): AttemptDecision {
  const { outcome, attemptsBefore, isProbe, at } = ended
  const isCounted = !isProbe || isBodyRefused(outcome)
  assert(attemptsBefore >= 0, 'attempts are counted from 0', attemptsBefore)
  const attempts = isCounted ? attemptsBefore + 1 : attemptsBefore
  if (isSuccess(outcome)) {
    const change = before.state === 'degraded' ? ({ kind: 'recovered' } as const) : undefined
    return { result: 'delivered', attempts, reason: null, nextAt: null, health: HEALTHY, change }
  }
  const failed = afterFailure(before, outcome, at)
  const change = changeAfter(before, failed, ended)
  // Nothing more is begun from here on, also before it is written down that it is degraded, or given up.
  const isWell = change === undefined || change.kind === 'recovered'
  const health = isWell ? failed : degraded(failed, at, change.reason)
  const nextAt = nextTry(health, { ...ended, attempts, isCounted })
  assert(nextAt === undefined || nextAt > at, 'the next attempt comes after the last', nextAt)
  const result = nextAt === undefined ? 'exhausted' : 'failed'
  return { result, attempts, reason: reasonFor(outcome), nextAt: nextAt ?? null, health, change }
}

export const HEALTHY: EndpointHealth = {
  state: 'active',
  degradedAt: undefined,
  goneAt: undefined,
  failuresInARow: 0,
  unreachableInARow: 0,
  firstFailureAt: undefined,
}

function afterFailure(before: EndpointHealth, { kind }: SendOutcome, at: number): EndpointHealth {
  const isThere = kind === 'answered' || kind === 'broken_off'
  return {
    ...before,
    failuresInARow: before.failuresInARow + 1,
    unreachableInARow: isThere ? 0 : before.unreachableInARow + 1,
    firstFailureAt: before.firstFailureAt ?? at,
  }
}

const degraded = (health: EndpointHealth, at: number, reason: string): EndpointHealth => ({
  ...health,
  state: 'degraded',
  degradedAt: health.degradedAt ?? at,
  goneAt: reason === GONE_REASON ? (health.goneAt ?? at) : health.goneAt,
})

function changeAfter(
  before: EndpointHealth,
  failed: EndpointHealth,
  { outcome, at }: EndedAttempt,
): AttemptDecision['change'] {
  if (outcome.status === GONE_STATUS) {
    if (before.goneAt === undefined) return { kind: 'degraded', reason: GONE_REASON }
    const isLater = at - before.goneAt >= GONE_AGAIN_MS
    return isLater ? { kind: 'disabled', reason: `${GONE_REASON}, and again an hour later` } : undefined
  }
  if (before.state === 'active') {
    const { failuresInARow, unreachableInARow } = failed
    const isBroken = failuresInARow >= FAILURES_TO_DEGRADE || unreachableInARow >= UNREACHABLE_TO_DEGRADE
    if (!isBroken) return undefined
    return { kind: 'degraded', reason: `${failuresInARow} failures in a row, the last: ${inWords(outcome)}` }
  }
  const isHopeless =
    at - (failed.degradedAt ?? at) >= DISABLE_AFTER_MS &&
    failed.failuresInARow >= DISABLE_ATTEMPTS &&
    at - (failed.firstFailureAt ?? at) >= DISABLE_SPAN_MS
  if (!isHopeless) return undefined
  return { kind: 'disabled', reason: `5 days without a success, the last attempt: ${inWords(outcome)}` }
}

function nextTry(
  health: EndpointHealth,
  ended: EndedAttempt & { readonly attempts: number; readonly isCounted: boolean },
): number | undefined {
  const { isCounted, attempts, at, random, outcome } = ended
  if (isCounted) return retryAt({ attempts, at, retryAfterMs: outcome.retryAfterMs, random })
  const { degradedAt = at, goneAt } = health
  const { retryAfterMs = 0 } = outcome
  return probeAt({ degradedAt, lastProbeAt: at, askedMs: retryAfterMs, isGone: goneAt !== undefined, random })
}
