import type { Clock } from '../../runtime/async/clock.ts'

/** Whether a venue is asked at all. */
export interface Circuit {
  /** Whether a request may go out now. In `half-open` it is the one that tries, and must be answered for. */
  enter(): boolean
  succeeded(): void
  /** @param leastPauseMs how long it is left alone at least, should this open it */
  failed(leastPauseMs?: number): void
  state(): 'closed' | 'open' | 'half-open'
  /** When it may be tried again, Unix milliseconds; while it is closed an instant that has passed. */
  opensAt(): number
}

export interface CircuitOptions extends Pick<Clock, 'now'> {
  readonly failuresInARow: number
  readonly pauseMs: number
  readonly pauseMaxMs: number
}

/**
 * Leaves a venue alone after a row of failures, so that a venue in trouble is not asked by every coin at once.
 * After the pause one request tries; if it fails too, the pause doubles up to a bound.
 *
 * @example
 * if (!circuit.enter()) throw new ServiceError('venue_unavailable')
 * try { await ask(); circuit.succeeded() } catch (error) { circuit.failed(); throw error }
 */
export function createCircuit({ failuresInARow, pauseMs, pauseMaxMs, now }: CircuitOptions): Circuit {
  let failures = 0
  let pause = pauseMs
  let openUntil = Number.NEGATIVE_INFINITY
  let isTrying = false

  const isOpen = (): boolean => failures >= failuresInARow

  return {
    enter() {
      if (!isOpen()) return true
      // A clock that was set back may not keep it shut for longer than the longest pause.
      if (openUntil > now() + pauseMaxMs) openUntil = now() + pauseMaxMs
      if (isTrying || now() < openUntil) return false
      isTrying = true
      return true
    },
    succeeded() {
      failures = 0
      pause = pauseMs
      isTrying = false
    },
    failed(leastPauseMs = 0) {
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
    state: () => (isOpen() ? (now() >= openUntil || isTrying ? 'half-open' : 'open') : 'closed'),
    opensAt: () => openUntil,
  }
}
