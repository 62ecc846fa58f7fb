import { beforeEach, describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { paymentFact, paymentIdOf } from '../../../projections/given-events.fixture.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createIndexInMemory, type IndexInMemory } from '../testing/index-in-memory.ts'
import { newId } from '../testing/payments-in-memory.fixture.ts'
import { createPaymentAdmin, type PaymentAdmin } from './payment-admin.ts'

const ALICE = `0x${'a1'.repeat(20)}`
const BOB = `0x${'b0'.repeat(20)}`
const CONTRACT = `0x${'c0'.repeat(20)}`
const TRANSACTION = `0x${'7a'.repeat(32)}`
const BACK = `0x${'e1'.repeat(32)}`
const origin = { correlationId: 'req-9', actor: 'operator' }
const { stream: STREAM } = paymentFact('PaymentClaimed', { paymentId: paymentIdOf(1) }, { payer: ALICE })

let store: EventStore
let index: IndexInMemory
let admin: PaymentAdmin
const open = (over: EventStore): PaymentAdmin =>
  createPaymentAdmin({
    on: BASE,
    store: over,
    index,
    newId,
    now: Date.now,
    sleep,
    signal: new AbortController().signal,
  })

beforeEach(() => {
  store = openMemoryStore({ now: () => Date.UTC(2026, 10, 21) })
  index = createIndexInMemory(store)
  admin = open(store)
})

/** A payment of 0.02 USDC, as far as it has come. */
async function payment(number: number, end: 'owed' | 'confirmed' | 'final' | 'uncollectable', payer = ALICE) {
  const paymentId = paymentIdOf(number)
  const block = { transaction: TRANSACTION, blockNumber: 7 }
  await append(payer, number, 'PaymentClaimed')
  if (end === 'uncollectable')
    await append(payer, number, 'PaymentUncollectable', { reason: 'cancelled', detail: '' })
  if (end === 'confirmed' || end === 'final')
    await append(payer, number, 'SettlementConfirmed', {
      ...block,
      blockHash: TRANSACTION,
      by: 'facilitator',
    })
  if (end === 'final') await append(payer, number, 'SettlementFinalised', block)
  await index.catchUp()
  return paymentId
}

async function append(
  payer: string,
  number: number,
  type: Parameters<typeof paymentFact>[0],
  data: JsonObject = {},
): Promise<void> {
  const { stream, event } = paymentFact(type, { paymentId: paymentIdOf(number), ...data }, { payer })
  await appendNext(store, stream, [{ ...event, id: newId() }])
}

const typesOf = (stream: string): Promise<string[]> => Array.fromAsync(store.read(stream), ({ type }) => type)

describe('list', () => {
  beforeEach(async () => {
    for (let number = 1; number <= 7; number++) {
      await payment(number, number % 3 === 0 ? 'uncollectable' : 'owed', number % 2 === 0 ? BOB : ALICE)
    }
  })
  const numbers = async (query: Parameters<PaymentAdmin['list']>[0]) =>
    (await admin.list(query)).map(({ paymentId }) => Number(paymentId.slice(-4)))

  test('shows the newest first, page by page', async () => {
    expect(await numbers({ limit: 3 })).toEqual([7, 6, 5])
    expect(await numbers({ limit: 3, after: paymentIdOf(5) })).toEqual([4, 3, 2])
    expect(await numbers({ limit: 3, after: paymentIdOf(2) })).toEqual([1])
    expect(await numbers({ limit: 3, after: paymentIdOf(1) })).toEqual([])
  })

  test('of a state, of a payer, or both', async () => {
    expect(await numbers({ limit: 9, state: 'uncollectable' })).toEqual([6, 3])
    expect(await numbers({ limit: 2, payer: ALICE })).toEqual([7, 5])
    expect(await numbers({ limit: 2, payer: ALICE, after: paymentIdOf(5) })).toEqual([3, 1])
    expect(await numbers({ limit: 9, payer: BOB, state: 'uncollectable' })).toEqual([6])
    expect(await numbers({ limit: 9, payer: CONTRACT })).toEqual([])
  })

  test('finds the few among many, past the first page of rows', async () => {
    for (let number = 8; number <= 230; number++) await payment(number, 'owed')
    expect(await numbers({ limit: 2, state: 'uncollectable' })).toEqual([6, 3])
  })
})

describe('show', () => {
  test('reads the log, which may be ahead of the read model', async () => {
    const paymentId = await payment(1, 'owed')
    await append(ALICE, 1, 'SettlementRequested', { attempt: 1, settler: 'facilitator' })
    expect(await admin.show(paymentId)).toMatchObject({ state: 'settling' })
  })

  test('refuses what is not there', async () => {
    expect(await codeOf(admin.show(paymentIdOf(1)))).toBe('not_found')
  })
})

describe('refund', () => {
  const refund = (paymentId: string, value: bigint, transaction = BACK, by = admin) =>
    by.refund(paymentId, { transaction, value, reason: 'a test' }, origin)

  test('is recorded once, however often it is told', async () => {
    const paymentId = await payment(1, 'final')
    expect(await refund(paymentId, 5_000n)).toMatchObject({ state: 'final', refunded: '5000' })
    expect(await refund(paymentId, 5_000n)).toMatchObject({ state: 'final', refunded: '5000' })
    expect(await refund(paymentId, 15_000n, TRANSACTION)).toMatchObject({
      state: 'refunded',
      refunded: '20000',
    })
    expect(await typesOf(STREAM)).toEqual([
      'PaymentClaimed',
      'SettlementConfirmed',
      'SettlementFinalised',
      'RefundSent',
      'RefundSent',
    ])
  })

  test('says by whose request it was', async () => {
    await refund(await payment(1, 'final'), 5_000n)
    for await (const event of store.read(STREAM, { from: 3 })) {
      expect(event.meta).toEqual(origin)
      expect(event.data).toMatchObject({ value: '5000', transaction: BACK, reason: 'a test' })
    }
  })

  test('of the whole, by two at the same time, is recorded once', async () => {
    const paymentId = await payment(1, 'final')
    const outcomes = await Promise.all([
      codeOf(refund(paymentId, 20_000n, BACK)),
      codeOf(refund(paymentId, 20_000n, TRANSACTION, open(store))),
    ])
    expect(outcomes.toSorted()).toEqual(['none', 'state_conflict'])
    expect(await admin.show(paymentId)).toMatchObject({ refunded: '20000' })
  })

  test.each(['owed', 'confirmed', 'uncollectable'] as const)('of what is %s is refused', async (state) => {
    const paymentId = await payment(1, state)
    expect(await codeOf(refund(paymentId, 1n))).toBe('state_conflict')
    expect(await typesOf(STREAM)).not.toContain('RefundSent')
  })

  test('of more than was paid, and of what is not there, is refused', async () => {
    expect(await codeOf(refund(await payment(1, 'final'), 20_001n))).toBe('state_conflict')
    expect(await codeOf(refund(paymentIdOf(2), 1n))).toBe('not_found')
  })
})

test('totals are those of all payers', async () => {
  expect(admin.totals()).toEqual({ unsettled: 0n, debt: 0n, open: 0, claims: 0, byState: {} })
  await payment(1, 'owed')
  await payment(2, 'uncollectable', BOB)
  await payment(3, 'final')
  expect(admin.totals()).toEqual({
    unsettled: 20_000n,
    debt: 20_000n,
    open: 1,
    claims: 3,
    byState: { owed: 1, uncollectable: 1, final: 1 },
  })
})

test('without read models nothing can be told', async () => {
  const blind = createPaymentAdmin({
    on: BASE,
    store,
    index: undefined,
    newId,
    now: Date.now,
    sleep,
    signal: new AbortController().signal,
  })
  expect(blind.totals()).toBeUndefined()
  expect(await codeOf(blind.list({ limit: 1 }))).toBe('payments_unavailable')
  expect(await codeOf(blind.show(paymentIdOf(1)))).toBe('payments_unavailable')
})
