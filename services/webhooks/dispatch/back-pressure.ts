import type { Attempts } from './attempts.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Halts the tail while more is to be sent than can be sent at once: reading on would only drop endpoints out of the
 * tail. It waits for endpoints whose queue is full because they wait for their turn, until half of the queue is sent.
 */
export function createBackPressure(attempts: Attempts, signal: AbortSignal) {
  /** The queue length at which each endpoint no longer halts the tail. */
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
    /** Looks at an endpoint for which a signal of the tail was queued. */
    look(endpoint: Endpoint): void {
      if (!endpoint.hasRoom && attempts.isHeldUp(endpoint)) heldUp.set(endpoint, endpoint.queued / 2)
    },
    /** Resolves when the tail may go on; undefined where it need not wait. */
    whenRoom: (): Promise<void> | undefined => (heldUp.size === 0 ? undefined : makeRoom()),
  }
}
