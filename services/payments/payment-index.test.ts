import { expect, test } from 'vitest'
import { type Fact, paymentFact, paymentIdOf } from '../../projections/given-events.fixture.ts'
import { appendNext } from '../../testing/append-next.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { startProjector } from '../log/projector/projector.ts'
import { openRowTables } from '../log/projector/row-tables.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { createPaymentIndex, type PaymentIndex } from './payment-index.ts'
import { payments } from './payments-projection.ts'
import { createIndexInMemory } from './testing/index-in-memory.ts'
import { newId } from './testing/payments-in-memory.fixture.ts'

const [ALICE, BOB] = [`0x${'a1'.repeat(20)}`, `0x${'b0'.repeat(20)}`]

interface Opened {
  readonly index: PaymentIndex
  close(): Promise<void>
}

async function overProjector(store: EventStore): Promise<Opened> {
  const tables = openRowTables(':memory:', 'a log')
  const projector = startProjector({ store, tables, projections: [payments], sleep })
  await projector.caughtUp()
  return { index: createPaymentIndex(projector), close: () => projector.close() }
}

async function inMemory(store: EventStore): Promise<Opened> {
  const index = createIndexInMemory(store)
  await index.catchUp()
  return { index, close: async () => {} }
}

test.each([
  ['the tables of a projector', overProjector],
  ['the rows that tests fold', inMemory],
])('the read model answers from %s', async (_, open) => {
  const store = openMemoryStore({ now: Date.now })
  const append = async ({ stream, event }: Fact) => {
    await appendNext(store, stream, [{ ...event, id: newId() }])
  }
  for (const number of [1, 2, 3]) {
    const payer = number === 2 ? BOB : ALICE
    await append(paymentFact('PaymentClaimed', { paymentId: paymentIdOf(number) }, { payer }))
  }

  const opened = await open(store)
  const { index } = opened
  expect(index.position()).toBe(await store.head())
  expect(index.payer(ALICE)).toMatchObject({ unsettled: '40000', claims: 2 })
  expect(index.payer(BOB)).toMatchObject({ unsettled: '20000', claims: 1 })
  expect(index.payer(`0x${'cc'.repeat(20)}`)).toBeUndefined()
  expect(index.total()).toMatchObject({ unsettled: '60000', claims: 3 })
  expect(index.payment(paymentIdOf(2))).toMatchObject({ payer: BOB, state: 'owed' })
  expect(index.payment(paymentIdOf(9))).toBeUndefined()
  const idsOf = (page: Parameters<typeof index.newest>[0]) =>
    index.newest(page).map(({ paymentId }) => paymentId)
  expect(idsOf({ limit: 2 })).toEqual([paymentIdOf(3), paymentIdOf(2)])
  expect(idsOf({ limit: 2, after: paymentIdOf(2) })).toEqual([paymentIdOf(1)])
  await opened.close()
  await store.close()
})
