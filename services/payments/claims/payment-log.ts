import type { z } from 'zod'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, RecordedEvent, Revision } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { PaymentClaimed, RefundSent } from '../../../contracts/payment-events.ts'
import { evolvePayment, type Payment } from '../../../projections/index.ts'
import type { AppendResult, EventStore, ExpectedRevision } from '../../platform/event-store/event-store.ts'

export type ClaimData = z.output<typeof PaymentClaimed.data>
export type Refund = Pick<z.output<typeof RefundSent.data>, 'transaction' | 'value'>

/** A payment as its stream tells it. */
export interface LoadedPayment {
  readonly payment: Payment
  readonly claim: Pick<ClaimData, 'requestHash' | 'answer' | 'signature'>
  readonly refunds: readonly Refund[]
  /** Of its newest event. */
  readonly revision: Revision
}

export interface PaymentLogOptions {
  readonly store: EventStore
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Ends the waiting between tries. What is read is read to its end: half a stream would tell something else. */
  readonly signal: AbortSignal
}

/** The streams of payments and payers, as everybody but the settler reads and writes them. */
export interface PaymentLog {
  /** The newest state, other processes' events included; undefined where there is no claim. */
  load(stream: string): Promise<LoadedPayment | undefined>
  /** The newest event of a stream. */
  newest(stream: string): Promise<RecordedEvent | undefined>
  /**
   * Appends an event: durable when it resolves. While its outcome is unknown the very same append is repeated.
   *
   * @returns undefined where the stream is not at that revision: to be read and decided anew
   * @throws ServiceError of the store
   */
  append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<AppendResult | undefined>
}

const RETRY_MS = [20, 100, 400] as const

export function createPaymentLog({ store, sleep, signal }: PaymentLogOptions): PaymentLog {
  return {
    async load(stream) {
      let loaded: LoadedPayment | undefined
      for await (const recorded of store.read(stream)) loaded = after(loaded, recorded)
      return loaded
    },
    async newest(stream) {
      for await (const event of store.read(stream, { direction: 'backwards', limit: 1 })) return event
      return undefined
    },
    async append(stream, event, expected) {
      for (let tries = 0; ; tries++) {
        try {
          return await store.append(stream, [event], { expected })
        } catch (error) {
          if (isServiceError(error, 'revision_conflict')) return undefined
          const wait = RETRY_MS[tries]
          const isPassing =
            isServiceError(error, 'append_unknown') || isServiceError(error, 'store_unavailable')
          if (!isPassing || wait === undefined || signal.aborted) throw error
          await sleep(wait, signal)
        }
      }
    },
  }
}

/** A payment after an event of its stream. */
export function after(before: LoadedPayment | undefined, recorded: RecordedEvent): LoadedPayment {
  const event = decodeEvent(recorded)
  const { revision } = recorded
  const payment = evolvePayment(before?.payment, event)
  if (event.type === 'PaymentClaimed' && payment !== undefined) {
    return { payment, claim: event.data, refunds: [], revision }
  }
  if (before === undefined || payment === undefined) {
    throw new ServiceError('event_unreadable', {
      message: `The stream ${recorded.stream} holds a ${recorded.type} at revision ${revision}.`,
    })
  }
  const refunds = event.type === 'RefundSent' ? [...before.refunds, event.data] : before.refunds
  return { ...before, payment, refunds, revision }
}
