import { type Lane, mayBegin } from './lane.ts'

/** Halts the pass while more is to be sent than can be sent at once. */
export interface PassBrake {
  /** Told of each endpoint that a signal of the pass was queued for. */
  look(lane: Lane): void
  /** What is to be waited for before the pass goes on; undefined where nothing is. */
  readonly whenRoom: () => Promise<void> | undefined
}

/**
 * With more to be sent at once than can be, reading on would only drop endpoints out of the pass, and each would read
 * for itself what is read here for all. So the pass waits for endpoints whose queue is full because they wait for
 * their turn, until half of that is sent. One that has all the attempts under way that it may have is slower than the others, and not waited for.
 *
 * @param nextTurn resolves when an endpoint has had its turn
 */
export function createPassBrake(options: {
  readonly isFull: (lane: Lane) => boolean
  readonly nextTurn: () => Promise<void>
  readonly signal: AbortSignal
}): PassBrake {
  const { isFull, nextTurn, signal } = options
  /** How much may be left of the queue of each. */
  const heldUp = new Map<Lane, number>()
  const waitsForTurn = (lane: Lane): boolean => lane.isReady && lane.mode === 'live' && mayBegin(lane)

  async function makeRoom(): Promise<void> {
    for (const [lane, most] of heldUp) {
      while (waitsForTurn(lane) && lane.queue.length > most && !signal.aborted) await nextTurn()
      heldUp.delete(lane)
    }
  }

  return {
    look(lane) {
      if (waitsForTurn(lane) && isFull(lane)) heldUp.set(lane, lane.queue.length / 2)
    },
    whenRoom: () => (heldUp.size === 0 ? undefined : makeRoom()),
  }
}
