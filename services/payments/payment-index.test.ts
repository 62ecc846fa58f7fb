import { expect, test } from 'vitest'
import { type Fact, paymentFact } from '../../projections/given-events.fixture.ts'
import { payments } from '../../projections/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import { openMemoryStore } from '../platform/event-store/memory/memory-store.ts'
import { startProjector } from '../platform/projector/projector.ts'
import { openRowTables } from '../platform/projector/row-tables.ts'
import { createPaymentIndex } from './payment-index.ts'

const [ALICE, BOB] = [`0x${'a1'.repeat(20)}`, `0x${'b0'.repeat(20)}`]
const idOf = (number: number): string => `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`

test('the read model answers from the tables of a projector', async () => {
  const store = openMemoryStore({ now: Date.now })
  const append = async ({ stream, event }: Fact, id: string) => {
    await store.append(stream, [{ ...event, id }], { expected: 'any' })
  }
  for (const number of [1, 2, 3]) {
    const claimed = paymentFact(
      'PaymentClaimed',
      { paymentId: idOf(number) },
      { payer: number === 2 ? BOB : ALICE },
    )
    await append(claimed, idOf(100 + number))
  }
  await append(paymentFact('PayerBlocked', { payer: BOB, reason: 'a test' }), idOf(200))

  const projector = startProjector({
    store,
    tables: openRowTables(':memory:', 'a log'),
    projections: [payments],
    sleep,
  })
  const index = createPaymentIndex(projector)
  await projector.caughtUp()

  expect(index.position()).toBe(await store.head())
  expect(index.payer(ALICE)).toMatchObject({ unsettled: '40000', claims: 2, isBlocked: false })
  expect(index.payer(BOB)).toMatchObject({ unsettled: '20000', claims: 1, isBlocked: true })
  expect(index.payer(`0x${'cc'.repeat(20)}`)).toBeUndefined()
  expect(index.total()).toMatchObject({ unsettled: '60000', claims: 3 })
  expect(index.payment(idOf(2))).toMatchObject({ payer: BOB, state: 'owed' })
  expect(index.payment(idOf(9))).toBeUndefined()
  const idsOf = (page: Parameters<typeof index.newest>[0]) =>
    index.newest(page).map(({ paymentId }) => paymentId)
  expect(idsOf({ limit: 2 })).toEqual([idOf(3), idOf(2)])
  expect(idsOf({ limit: 2, after: idOf(2) })).toEqual([idOf(1)])

  await projector.close()
  await store.close()
})
