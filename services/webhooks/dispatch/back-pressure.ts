import type { Attempts } from './attempts.ts'
import type { Endpoint } from './endpoint.ts'

/** Halts the tail while more is to be sent than can be sent at once. */
export interface BackPressure {
  /** Looks at an endpoint that a signal of the tail was queued for. */
  look(endpoint: Endpoint): void
  /** What is to be waited for before the tail goes on; undefined where nothing is. */
  whenRoom(): Promise<void> | undefined
}

/**
 * With more to be sent at once than can be, reading on would only drop endpoints out of the tail. So the tail waits
 * for those whose queue is full because they wait for their turn, until half of that is sent.
 */
export function createBackPressure(
  attempts: Pick<Attempts, 'isHeldUp' | 'nextTurn'>,
  signal: AbortSignal,
): BackPressure {
  /** How much may be left of the queue of each. */
  const heldUp = new Map<Endpoint, number>()

  async function makeRoom(): Promise<void> {
    for (const [endpoint, most] of heldUp) {
      const isWaitedFor = (): boolean =>
        endpoint.queued > most && endpoint.state.source === 'tail' && attempts.isHeldUp(endpoint)
      while (isWaitedFor() && !signal.aborted) await attempts.nextTurn()
      heldUp.delete(endpoint)
    }
  }

  return {
    look(endpoint) {
      if (!endpoint.hasRoom && attempts.isHeldUp(endpoint)) heldUp.set(endpoint, endpoint.queued / 2)
    },
    whenRoom: () => (heldUp.size === 0 ? undefined : makeRoom()),
  }
}
