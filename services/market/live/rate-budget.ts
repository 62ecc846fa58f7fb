import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'

/** How fast a venue may be asked. */
export type RateBudget = ReturnType<typeof createRateBudget>

export interface RateBudgetOptions extends Pick<Clock, 'now' | 'sleep'> {
  /** Time that one unit of weight takes. */
  readonly msPerUnit: number
  /** Units that may be sent at once after a quiet time. */
  readonly burstUnits: number
}

/**
 * A leaky bucket: requests are spread so that no stretch of time holds more weight than the venue allows,
 * apart from a burst. It holds no queue of its own, so nothing can be lost in it.
 */
export function createRateBudget({ msPerUnit, burstUnits, now, sleep }: RateBudgetOptions) {
  /** When all that was promised so far has drained. */
  let drained = Number.NEGATIVE_INFINITY
  let pausedUntil = Number.NEGATIVE_INFINITY

  function planned(weight: number): number {
    const present = now()
    // A clock that was set back would leave requests waiting for a time long gone.
    if (drained > present + LIMITS.venueBudgetAheadMs) drained = present
    const start = Math.max(drained, present - burstUnits * msPerUnit)
    drained = start + weight * msPerUnit
    return start
  }

  return {
    /** Waits until a request of this weight may be sent; at once when the signal is aborted. First come, first served. */
    async take(weight: number, signal: AbortSignal): Promise<void> {
      const start = planned(weight)
      for (;;) {
        const left = Math.max(start, pausedUntil) - now()
        if (left <= 0 || signal.aborted) return
        await sleep(Math.min(left, LIMITS.venueBudgetAheadMs), signal)
      }
    },
    /** Nothing is sent before an instant, Unix milliseconds: the venue said so. */
    pauseUntil(instant: number): void {
      pausedUntil = Math.max(pausedUntil, Math.min(instant, now() + LIMITS.venueRetryAfterMs))
    },
  }
}
