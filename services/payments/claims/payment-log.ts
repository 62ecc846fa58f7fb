import type { NewEvent } from '../../../contracts/event.ts'
import {
  appendedOr,
  appendWithRetry,
  type LogUse,
  type PendingAppend,
  RETRY_FOR_CALLER,
  type UnknownOutcome,
} from '../../log/append-with-retry.ts'
import { type LoadedPayment, loadPayment } from '../loaded-payment.ts'

const UNKNOWN: UnknownOutcome = {
  what: 'this payment was taken',
  again: 'Send the same request with the same payment again: it is charged once.',
}

/** The streams of payments and payers, as everybody but the settler reads and writes them. */
export type PaymentLog = ReturnType<typeof createPaymentLog>

export function createPaymentLog(options: Omit<LogUse, 'newId'>) {
  const path = { ...options, policy: RETRY_FOR_CALLER }
  return {
    /** The newest state, other processes' events included; undefined where there is no claim. */
    load: (stream: string): Promise<LoadedPayment | undefined> => loadPayment(options.store, stream),
    /**
     * Appends events, all or none: durable when it resolves. While its outcome is unknown the very same append is repeated.
     *
     * @returns undefined where the stream is not at that revision: to be read and decided anew
     * @throws ServiceError `outcome_unknown`; of the store
     */
    async append(stream: string, events: readonly NewEvent[], expected: PendingAppend['expected']) {
      const outcome = await appendWithRetry(path, { stream, events, expected })
      // The same id with other content was another try of the same thing: what is there counts.
      return appendedOr(outcome, UNKNOWN)
    },
  }
}
