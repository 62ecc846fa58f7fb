import type { NewEvent } from '../../../contracts/event.ts'
import {
  appendedOr,
  appendUntilKnown,
  CALLER_WAITS,
  type PlacedAppend,
  type UnknownOutcome,
} from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type LoadedPayment, loadPayment } from '../loaded-payment.ts'

export interface PaymentLogOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  /** Ends the waiting between tries. What is read is read to its end: half a stream would tell something else. */
  readonly signal: AbortSignal
}

const UNKNOWN: UnknownOutcome = {
  what: 'this payment was taken',
  again: 'Send the same request with the same payment again: it is charged once.',
}

/** The streams of payments and payers, as everybody but the settler reads and writes them. */
export type PaymentLog = ReturnType<typeof createPaymentLog>

export function createPaymentLog(options: PaymentLogOptions) {
  const path = { ...options, policy: CALLER_WAITS }
  return {
    /** The newest state, other processes' events included; undefined where there is no claim. */
    load: (stream: string): Promise<LoadedPayment | undefined> => loadPayment(options.store, stream),
    /**
     * Appends events, all or none: durable when it resolves. While its outcome is unknown the very same append is repeated.
     *
     * @returns undefined where the stream is not at that revision: to be read and decided anew
     * @throws ServiceError `outcome_unknown`; of the store
     */
    async append(stream: string, events: readonly NewEvent[], expected: PlacedAppend['expected']) {
      const outcome = await appendUntilKnown(path, { stream, events, expected })
      // The same id with other content was another try of the same thing: what is there counts.
      return appendedOr(outcome, UNKNOWN)
    },
  }
}
