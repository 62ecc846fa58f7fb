import type { Clock } from '../../runtime/async/clock.ts'

/** Whether a venue is asked at all. */
export type Circuit = ReturnType<typeof createCircuit>

export interface CircuitOptions extends Pick<Clock, 'now'> {
  readonly failuresInARow: number
  readonly pauseMs: number
  readonly pauseMaxMs: number
}

/**
 * Leaves a venue alone after a row of failures, so that a venue in trouble is not asked by every coin at once.
 * After the pause one request tries; if it fails too, the pause doubles up to a bound.
 */
export function createCircuit({ failuresInARow, pauseMs, pauseMaxMs, now }: CircuitOptions) {
  let failures = 0
  let pause = pauseMs
  let openUntil = Number.NEGATIVE_INFINITY
  let isTrying = false
  /** The longest time that it may stay open. */
  let longest = pauseMaxMs

  const isOpen = (): boolean => failures >= failuresInARow

  return {
    /** Whether a request may go out now. In `half-open` it is the one that tries, and must be answered for. */
    enter(): boolean {
      if (!isOpen()) return true
      // A clock that was set back may not keep it shut for longer than that.
      openUntil = Math.min(openUntil, now() + longest)
      if (isTrying || now() < openUntil) return false
      isTrying = true
      return true
    },
    /** The venue itself says for how long it is to be left alone. */
    leaveAlone(milliseconds: number): void {
      isTrying = false
      failures = Math.max(failures, failuresInARow)
      longest = Math.max(pauseMaxMs, milliseconds)
      openUntil = Math.max(openUntil, now() + milliseconds)
    },
    succeeded(): void {
      // An answer that was under way does not end a wait that the venue asked for.
      if (longest > pauseMaxMs && now() < openUntil) return
      failures = 0
      longest = pauseMaxMs
      pause = pauseMs
      isTrying = false
    },
    /** @param leastPauseMs how long it is left alone at least, should this open it */
    failed(leastPauseMs: number = 0): void {
      const wasTrial = isTrying
      isTrying = false
      failures += 1
      if (!isOpen()) return
      // Requests that were under way when it opened fail too; they say nothing new.
      if (!wasTrial && now() < openUntil) return
      if (wasTrial) pause = Math.min(pause * 2, pauseMaxMs)
      pause = Math.max(pause, leastPauseMs)
      openUntil = now() + pause
    },
    state: (): 'closed' | 'open' | 'half-open' =>
      isOpen() ? (now() >= openUntil || isTrying ? 'half-open' : 'open') : 'closed',
    /** When it may be tried again, Unix milliseconds; while it is closed an instant that has passed. */
    opensAt: (): number => openUntil,
  }
}
