import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { type Position, START } from '../../../contracts/infra/position.ts'
import { rangeIn } from '../../../projections/given-events.fixture.ts'
import { rowsInMemory } from '../../../projections/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createPaymentIndex, type PaymentIndex } from '../payment-index.ts'
import { type PaymentsRow, payments } from '../payments-projection.ts'

/** The read model of payments of a test, which goes on when it is told to. */
export interface IndexInMemory extends PaymentIndex {
  /** Folds everything that is in the log. */
  catchUp(): Promise<void>
  /** Whether it follows the log. */
  isLive: boolean
}

export function createIndexInMemory(store: EventStore): IndexInMemory {
  const rows = rowsInMemory<PaymentsRow>()
  let position: Position = START
  const reader = {
    get: (key: string) => rows.get(key),
    range: (page: Parameters<ReturnType<typeof rangeIn>>[0]) => rangeIn(rows.entries)(page),
    health: () => ({
      name: payments.name,
      version: 1,
      state: index.isLive ? ('live' as const) : ('retrying' as const),
      position,
    }),
  }
  const index: IndexInMemory = {
    ...createPaymentIndex({ reader: () => reader as never }),
    isLive: true,
    async catchUp() {
      const head = await store.head()
      const filter = { types: payments.events }
      for await (const event of store.readAll({ after: position, upTo: head, filter })) {
        payments.fold(rows, decodeEvent(event))
      }
      position = head
    },
  }
  return index
}
