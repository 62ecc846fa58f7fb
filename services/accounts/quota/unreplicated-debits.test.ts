import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import type { EventStore } from '../../log/event-store.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { freeWindow, type Payer } from './balance.ts'
import { createQuotaLedger, type QuotaLedger } from './quota-ledger.ts'
import { aDebit } from './testing/ledger.fixture.ts'

let double: WireDouble
let store: EventStore
let skewMs: number
const ending = new AbortController()

beforeEach(async () => {
  double = await startWireDouble()
  store = openEventStoreDbStore({ connectionString: double.connectionString })
  skewMs = 0
})
afterEach(async () => {
  await store.close()
  double.stop()
})

const now = (): number => Date.now() + skewMs

const aLedger = (): QuotaLedger =>
  createQuotaLedger({
    store,
    index: { find: () => undefined, position: () => 'start' },
    idOf: createFactIds(Buffer.from('secret')),
    newId: randomUUID,
    now,
    sleep,
    signal: ending.signal,
  })

const aPayer = (): Payer => ({ id: randomUUID(), tier: 'free', window: freeWindow(Date.now()) })

async function debitsOf(payer: Payer): Promise<number> {
  let count = 0
  for await (const _ of store.read(`quota-${payer.id}.${payer.window.id}`)) count += 1
  return count
}

test('a call whose debit is replicated late is counted once, however many calls wait behind it', async () => {
  const ledger = aLedger()
  for (const lateMs of [15, 40, 90]) {
    const payer = aPayer()
    await ledger.debit(payer, aDebit('first'), now())
    double.log.holdReplication()
    double.faults.failNextAppend('timeout-after-commit')
    setTimeout(() => double.log.replicate(), lateMs)
    const calls = ['a', 'b', 'c'].map((answer) => ledger.debit(payer, aDebit(answer), now()))
    const used = (await Promise.all(calls)).map(({ balance }) => balance.used)
    expect(used).toEqual([2, 3, 4])
    expect(await debitsOf(payer)).toBe(4)
  }
})

test('one that is replicated later than anybody waits is told as not known, and asked for with few requests', async () => {
  const ledger = aLedger()
  const payer = aPayer()
  await ledger.debit(payer, aDebit('first'), now())
  double.log.holdReplication()
  double.faults.failNextAppend('timeout-after-commit')
  const before = double.calls.append
  setTimeout(() => {
    skewMs = 60_000
  }, 250)
  const asked = ledger.debit(payer, aDebit('second'), now())
  await expect(asked).rejects.toMatchObject({ code: 'outcome_unknown' })
  await expect(asked).rejects.not.toThrow(/nothing was charged/)
  expect(double.calls.append - before).toBeLessThan(12)
  double.log.replicate()
  expect(await debitsOf(payer)).toBe(2)
  // Whoever comes next counts on from there.
  expect((await ledger.debit(payer, aDebit('third'), now())).balance.used).toBe(3)
})
