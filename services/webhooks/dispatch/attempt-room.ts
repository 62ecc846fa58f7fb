import { LIMITS } from '../../../contracts/limits.ts'

const LOOK_MS = 25
/** Shares of its time past which this process has none left, and short of which it has. */
const [FULL, SPARE] = [0.95, 0.9]
/** Answers that take longer than this are mostly on their way, and wait for this process little. */
const NEAR_MS = 40

export type AttemptRoom = Pick<ReturnType<typeof createAttemptRoom>, 'most' | 'ended'>

/**
 * How many attempts to quick endpoints go at a time. Where this process has no time left, more of them only wait in it.
 * With fewer, the answers of one endpoint follow each other sooner, and more of them share an event of its delivery log.
 *
 * @param busy share of its time that this process was at work since the last call
 */
export function createAttemptRoom(elapsed: () => number, busy: () => number) {
  const all: number = LIMITS.webhookAttemptsAtOnce
  let [most, lookedMs, tookMs] = [all, elapsed(), NEAR_MS]
  return {
    get most(): number {
      return most
    },
    ended(attemptMs: number): void {
      tookMs += (attemptMs - tookMs) / 16
      if (elapsed() - lookedMs < LOOK_MS) return
      lookedMs = elapsed()
      const share = busy()
      if (share > FULL && tookMs < NEAR_MS) most = Math.max(all / 4, most / 2)
      else if (share < SPARE || tookMs >= NEAR_MS) most = Math.min(all, most * 2)
    },
  }
}

/** Tells the share of the time since the last call in which the event loop of this thread was at work. */
export function createBusyShare(): () => number {
  let [before, now] = [performance.eventLoopUtilization(), performance.eventLoopUtilization()]
  return () => {
    ;[before, now] = [now, performance.eventLoopUtilization()]
    return performance.eventLoopUtilization(now, before).utilization
  }
}
