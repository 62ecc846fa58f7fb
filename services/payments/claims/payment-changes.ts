import { reasonOf } from '../../../contracts/errors.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'

export interface PaymentChangesOptions extends Pick<Clock, 'sleep'> {
  readonly store: EventStore
  /** Ends the following. */
  readonly signal: AbortSignal
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

/** Tells who waits for a payment that its state may have changed, in whichever process that happened. */
export interface PaymentChanges {
  /**
   * Begins to listen to a stream. It wakes; what has changed is read from the log, so a change that was missed
   * costs time and nothing else.
   */
  listen(stream: string): { next(mostMs: number, signal: AbortSignal): Promise<void>; end(): void }
  /** Resolves after {@link PaymentChangesOptions.signal} was aborted. */
  readonly ended: Promise<void>
}

/** The events that end the wait for a settlement. */
const TYPES = ['SettlementConfirmed', 'SettlementFinalised', 'PaymentUncollectable'] as const

/** One subscription for all that wait, since each one of its own would look at every event of the log. */
export function createPaymentChanges(options: PaymentChangesOptions): PaymentChanges {
  const { store, sleep, signal, report } = options
  const listeners = new Map<string, Set<() => void>>()

  async function follow(): Promise<void> {
    for await (const item of store.subscribe({ after: 'end', filter: { types: TYPES }, signal })) {
      if (item.kind !== 'event') continue
      for (const wake of listeners.get(item.event.stream) ?? []) wake()
    }
  }

  return {
    listen(stream) {
      let hasRung = false
      let sleeper: AbortController | undefined
      const wake = (): void => {
        hasRung = true
        sleeper?.abort()
      }
      const others = listeners.get(stream) ?? new Set()
      listeners.set(stream, others.add(wake))
      return {
        async next(mostMs, waiting) {
          if (!hasRung) {
            sleeper = new AbortController()
            await sleep(mostMs, AbortSignal.any([waiting, signal, sleeper.signal]))
          }
          hasRung = false
        },
        end() {
          others.delete(wake)
          if (others.size === 0) listeners.delete(stream)
        },
      }
    },
    ended: follow().catch((error: unknown) =>
      report('changes of payments are not followed any more', { reason: reasonOf(error) }),
    ),
  }
}
