import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { ProjectionReader } from '../../log/projector/projector.ts'
import { evolvePayment, type Payment } from '../state/payment-state.ts'
import { openPayments, type PaymentsRow, paymentRowKey } from '../state/payments.ts'
import type { PaymentQueue } from './payment-queue.ts'

export interface FollowedClaims {
  readonly store: EventStore
  readonly reader: Pick<ProjectionReader<PaymentsRow>, 'get' | 'range' | 'health'>
  readonly queue: Pick<PaymentQueue, 'track' | 'revive'>
}

/**
 * Puts every payment that is not at its end into the queue, until the signal: those of the past from the read model,
 * those to come from the log behind it.
 *
 * @throws ServiceError of the store
 */
export async function followClaims(
  { store, reader, queue }: FollowedClaims,
  signal: AbortSignal,
): Promise<void> {
  // Before its rows are read: what is folded meanwhile is met twice, and nothing is missed.
  const after = reader.health().position
  for (const paymentId of openPayments(reader)) {
    if (signal.aborted) return
    const payment = reader.get(paymentRowKey(paymentId))
    if (payment !== undefined && 'stream' in payment) queue.track(payment as Payment)
  }
  const filter = { types: ['PaymentClaimed', 'SettlementConfirmed'] }
  for await (const item of store.subscribe({ after, filter, signal })) {
    if (item.kind !== 'event') continue
    if (item.event.type === 'SettlementConfirmed') {
      if (item.event.meta.actor !== 'settler') await queue.revive(item.event.stream, signal)
      continue
    }
    const payment = evolvePayment(undefined, decodeEvent(item.event))
    if (payment !== undefined) queue.track(payment)
  }
}
