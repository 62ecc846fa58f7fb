import { HOUR_MS } from '../../../contracts/timeframes.ts'

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

export const MOST_ATTEMPTS = RETRY_STEPS_MS.length

/** Spreads what failed together. */
const JITTER = 0.2
/** A `Retry-After` is waited for up to this many times the step, and an hour at least. */
const RETRY_AFTER_STEPS = 4
const RETRY_AFTER_LEAST_MS = HOUR_MS

/** The first probe of a degraded endpoint, and the longest time between two. */
const PROBE_FIRST_MS = 30 * SECOND_MS
const PROBE_LONGEST_MS = 15 * MINUTE_MS

/** An endpoint that said that it is gone is asked once more after this. */
export const GONE_AGAIN_MS = HOUR_MS

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
  const step = RETRY_STEPS_MS[failed.attempts]
  if (step === undefined) return undefined
  const asked = Math.min(failed.retryAfterMs ?? 0, Math.max(RETRY_AFTER_STEPS * step, RETRY_AFTER_LEAST_MS))
  return failed.at + Math.max(jittered(step, failed.random), asked)
}

/**
 * When a degraded endpoint is probed again: 30 s after it was degraded, then after as long as it has been so, which
 * doubles from probe to probe, up to 15 min. It follows from the log alone, so a restart goes on where it was.
 *
 * @param degradedAt Unix milliseconds, as is `lastProbeAt`: when it was tried last, before or after it was degraded
 */
export function probeAt(degraded: {
  readonly degradedAt: number
  readonly lastProbeAt: number
  readonly isGone: boolean
  readonly random: number
}): number {
  const from = Math.max(degraded.degradedAt, degraded.lastProbeAt)
  if (degraded.isGone) return from + GONE_AGAIN_MS
  const wait = Math.min(PROBE_LONGEST_MS, Math.max(PROBE_FIRST_MS, from - degraded.degradedAt))
  return from + jittered(wait, degraded.random)
}

/**
 * In how long a delivery that the log has open is tried again. A clock that was set back since its last try counts
 * from that try, so that nothing waits for the clock to come there again.
 */
export const dueInMs = (
  { lastAt, nextAt }: { readonly lastAt: number; readonly nextAt: number },
  wallMs: number,
): number => Math.max(0, nextAt - Math.max(wallMs, lastAt))
