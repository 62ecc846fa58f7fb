import type { NewEvent } from '../../../contracts/event.ts'
import {
  type Appended,
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

/** The streams of payments and payers, as everybody but the settler reads and writes them. */
export interface PaymentLog {
  /** The newest state, other processes' events included; undefined where there is no claim. */
  load(stream: string): Promise<LoadedPayment | undefined>
  /**
   * Appends events, all or none: durable when it resolves. While its outcome is unknown the very same append is repeated.
   *
   * @returns undefined where the stream is not at that revision: to be read and decided anew
   * @throws ServiceError `outcome_unknown`; of the store
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    expected: PlacedAppend['expected'],
  ): Promise<Appended | undefined>
}

const UNKNOWN: UnknownOutcome = {
  what: 'this payment was taken',
  again: 'Send the same request with the same payment again: it is charged once.',
}

export function createPaymentLog(options: PaymentLogOptions): PaymentLog {
  const { store } = options
  const path = { ...options, policy: CALLER_WAITS }
  return {
    load: (stream) => loadPayment(store, stream),
    async append(stream, events, expected) {
      const outcome = await appendUntilKnown(path, { stream, events, expected })
      // The same id with other content was another try of the same thing: what is there counts.
      return appendedOr(outcome, UNKNOWN)
    },
  }
}
