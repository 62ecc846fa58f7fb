import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import { type Fact, fold, given, paymentFact, paymentIdOf } from '../../projections/given-events.fixture.ts'
import { evolvePayment, isDebt, isOpen, isServable, isUnsettled, type Payment } from './payment.ts'
import {
  CLAIM_COUNTS_KEY,
  OPEN_PAYMENT_PREFIX,
  openPaymentKey,
  PAYMENT_PREFIX,
  type PayerTotals,
  payerKey,
  paymentRowKey,
  payments,
  TOTALS_KEY,
} from './payments-projection.ts'

const ALICE = `0x${'a1'.repeat(20)}`
const BOB = `0x${'b0'.repeat(20)}`
const TRANSACTION = `0x${'7a'.repeat(32)}`
const BLOCK = { blockNumber: 12, blockHash: `0x${'cc'.repeat(32)}` }

type ClaimChange = {
  readonly payer?: string | undefined
  readonly value?: string
  readonly isServedFirst?: boolean
  readonly rail?: 'direct' | 'gateway'
}

/** The events that can happen to a payment with a number. */
function story(number: number, change: ClaimChange = {}) {
  const paymentId = paymentIdOf(number)
  const of = (type: Parameters<typeof paymentFact>[0], data: object): Fact =>
    paymentFact(type, { paymentId, ...data }, change)
  return {
    paymentId,
    key: paymentRowKey(paymentId),
    claimed: of('PaymentClaimed', {}),
    requested: of('SettlementRequested', { attempt: 1, settler: 'facilitator' }),
    broadcast: of('SettlementBroadcast', { attempt: 1, transaction: TRANSACTION }),
    failed: of('SettlementFailed', { attempt: 1, reason: 'insufficient_funds' }),
    unknown: of('SettlementUnknown', { attempt: 1, reason: 'the node does not answer' }),
    confirmed: of('SettlementConfirmed', { transaction: TRANSACTION, ...BLOCK, by: 'facilitator' }),
    finalised: of('SettlementFinalised', { transaction: TRANSACTION, blockNumber: 12 }),
    reorged: of('SettlementReorged', { transaction: TRANSACTION, blockNumber: 12 }),
    uncollectable: of('PaymentUncollectable', { reason: 'cancelled', detail: '' }),
    refunded: (value: string) =>
      of('RefundSent', { value, transaction: `0x${'ee'.repeat(32)}`, reason: 'a test' }),
  }
}

const one = story(1, { payer: ALICE })
const rowOf = (...facts: readonly Fact[]) => fold(payments, given(...facts))[one.key] as Payment
const totalsOf = (rows: Record<string, unknown>, payer?: string) =>
  rows[payer === undefined ? TOTALS_KEY : payerKey(payer)] as PayerTotals | undefined

test('a claim looks for no row of its payment, which it begins', () => {
  const asked: string[] = []
  const rows = { get: (key: string) => void asked.push(key), put: () => undefined, delete: () => undefined }
  for (const event of given(one.claimed)) payments.fold(rows, event)
  expect(asked).toContain(payerKey(ALICE))
  expect(asked).not.toContain(one.key)
})

describe('a payment', () => {
  test.each<[string, Fact[], Partial<Payment>]>([
    ['claimed', [], { state: 'owed', attempts: 0, transaction: null, reason: null, refunded: '0' }],
    ['requested', [one.requested], { state: 'settling', attempts: 1 }],
    ['broadcast', [one.requested, one.broadcast], { state: 'broadcast', transaction: TRANSACTION }],
    [
      'failed',
      [one.requested, one.broadcast, one.failed],
      { state: 'owed', transaction: null, reason: 'insufficient_funds', attempts: 1 },
    ],
    [
      'unknown, and remembers what was sent',
      [one.requested, one.broadcast, one.unknown],
      { state: 'unknown', transaction: TRANSACTION, reason: 'the node does not answer' },
    ],
    [
      'confirmed',
      [one.requested, one.unknown, one.confirmed],
      { state: 'confirmed', transaction: TRANSACTION, ...BLOCK, reason: null },
    ],
    ['final', [one.confirmed, one.finalised], { state: 'final', transaction: TRANSACTION, ...BLOCK }],
    [
      'owed again after a reorganisation',
      [one.confirmed, one.reorged],
      { state: 'owed', transaction: null, blockNumber: null, blockHash: null, reason: 'reorged' },
    ],
    ['uncollectable', [one.uncollectable], { state: 'uncollectable', reason: 'cancelled' }],
    [
      'paid after all, although it was taken for uncollectable',
      [one.uncollectable, one.confirmed],
      { state: 'confirmed', reason: null },
    ],
    [
      'refunded in part',
      [one.confirmed, one.finalised, one.refunded('5000')],
      { state: 'final', refunded: '5000' },
    ],
    [
      'refunded',
      [one.confirmed, one.finalised, one.refunded('5000'), one.refunded('15000')],
      { state: 'refunded', refunded: '20000' },
    ],
  ])('is %s', (_, facts, expected) => {
    expect(rowOf(one.claimed, ...facts)).toMatchObject(expected)
  })

  test('without its claim is nothing', () => {
    expect(fold(payments, given(one.requested, one.broadcast, one.confirmed))).toEqual({})
  })

  test('holds neither its signature nor its answer', () => {
    const text = JSON.stringify(fold(payments, given(one.claimed)))
    expect(text).not.toContain('HOLD')
    expect(text).not.toContain('ab'.repeat(65))
  })
})

test('claims are counted in the state that each is in', () => {
  const [two, three] = [story(2), story(3)]
  const facts = [one.claimed, two.claimed, three.claimed, one.requested, two.requested, two.confirmed]
  const counts = (...more: Fact[]) => fold(payments, given(...facts, ...more))[CLAIM_COUNTS_KEY]
  expect(counts()).toEqual({ owed: 1, settling: 1, confirmed: 1 })
  expect(counts(one.confirmed, one.finalised, two.finalised)).toEqual({ owed: 1, final: 2 })
  expect(counts(two.reorged)).toEqual({ owed: 2, settling: 1 })
})

test.each<
  [Payment['state'], boolean, { servable: boolean; unsettled: boolean; debt: boolean; open: boolean }]
>([
  ['owed', true, { servable: true, unsettled: true, debt: false, open: true }],
  ['owed', false, { servable: false, unsettled: false, debt: false, open: true }],
  ['settling', true, { servable: true, unsettled: true, debt: false, open: true }],
  ['broadcast', false, { servable: false, unsettled: false, debt: false, open: true }],
  ['unknown', true, { servable: true, unsettled: true, debt: false, open: true }],
  ['confirmed', false, { servable: true, unsettled: false, debt: false, open: true }],
  ['confirmed', true, { servable: true, unsettled: false, debt: false, open: true }],
  ['final', false, { servable: true, unsettled: false, debt: false, open: false }],
  ['uncollectable', true, { servable: true, unsettled: false, debt: true, open: false }],
  ['uncollectable', false, { servable: false, unsettled: false, debt: false, open: false }],
  ['refunded', true, { servable: true, unsettled: false, debt: false, open: false }],
])('%s, served first: %s', (state, isServedFirst, expected) => {
  const payment = { ...rowOf(one.claimed), state, isServedFirst }
  expect({
    servable: isServable(payment),
    unsettled: isUnsettled(payment),
    debt: isDebt(payment),
    open: isOpen(payment),
  }).toEqual(expected)
})

describe('payers', () => {
  test('owe what was served to them and is not settled, and nothing once it is', () => {
    const [two, three] = [story(2, { payer: ALICE, value: '30000' }), story(3, { payer: BOB })]
    const before = fold(payments, given(one.claimed, two.claimed, three.claimed, two.requested))
    expect(totalsOf(before, ALICE)).toMatchObject({ unsettled: '50000', claims: 2, open: 2 })
    expect(totalsOf(before, BOB)).toMatchObject({ unsettled: '20000', claims: 1, open: 1 })
    expect(totalsOf(before)).toMatchObject({ unsettled: '70000', claims: 3, open: 3 })
    const after = fold(payments, given(one.claimed, two.claimed, three.claimed, two.confirmed, two.finalised))
    expect(totalsOf(after, ALICE)).toMatchObject({ unsettled: '20000', claims: 2, open: 1 })
    expect(after).toHaveProperty([openPaymentKey(one.paymentId)])
    expect(after).not.toHaveProperty([openPaymentKey(two.paymentId)])
  })

  test('owe nothing for what is settled first', () => {
    const first = story(2, { payer: ALICE, isServedFirst: false })
    expect(totalsOf(fold(payments, given(first.claimed)), ALICE)).toMatchObject({ unsettled: '0', debt: '0' })
    const lost = fold(payments, given(first.claimed, first.uncollectable))
    expect(totalsOf(lost, ALICE)).toMatchObject({ unsettled: '0', debt: '0', open: 0 })
  })

  test('have a debt until they have paid as much in advance', () => {
    const small = story(2, { payer: ALICE, value: '5000', isServedFirst: false })
    const rest = story(3, { payer: ALICE, value: '40000', isServedFirst: false })
    const lost = [one.claimed, one.uncollectable]
    const debtAfter = (...facts: Fact[]) => totalsOf(fold(payments, given(...lost, ...facts)), ALICE)?.debt
    expect(debtAfter()).toBe('20000')
    expect(debtAfter(small.claimed, small.confirmed, small.finalised)).toBe('15000')
    expect(debtAfter(small.claimed, small.confirmed, rest.claimed, rest.confirmed)).toBe('0')
    const servedFirst = story(4, { payer: ALICE })
    expect(debtAfter(servedFirst.claimed, servedFirst.confirmed)).toBe('20000')
    expect(debtAfter(one.confirmed)).toBe('0')
  })

  test('pay a debt once with one payment, also where its block is taken back and comes again', () => {
    const lost = [one.claimed, one.uncollectable]
    const first = story(2, { payer: ALICE, value: '5000', isServedFirst: false })
    const debtAfter = (...facts: Fact[]) => totalsOf(fold(payments, given(...lost, ...facts)), ALICE)?.debt
    const again = [first.claimed, first.confirmed, first.reorged, first.requested, first.confirmed]
    expect(debtAfter(...again.slice(0, 3))).toBe('20000')
    expect(debtAfter(...again)).toBe('15000')
    expect(debtAfter(...again, first.finalised)).toBe('15000')
  })

  test('owe what they were given once its money was there, and then lost to the chain', () => {
    const first = story(2, { payer: ALICE, value: '5000', isServedFirst: false })
    const rows = fold(payments, given(first.claimed, first.confirmed, first.reorged, first.uncollectable))
    expect(totalsOf(rows, ALICE)?.debt).toBe('5000')
  })

  test('pay no debts of others', () => {
    const bobs = story(2, { payer: BOB, isServedFirst: false })
    const rows = fold(payments, given(one.claimed, one.uncollectable, bobs.claimed, bobs.confirmed))
    expect(totalsOf(rows, ALICE)?.debt).toBe('20000')
    expect(totalsOf(rows)?.debt).toBe('20000')
  })
})

/** Any way that a payment can go, as the settler records it. */
const STEPS = [
  'requested',
  'broadcast',
  'failed',
  'unknown',
  'confirmed',
  'finalised',
  'reorged',
  'uncollectable',
] as const
const histories = fc
  .array(
    fc.record({
      payer: fc.constantFrom(ALICE, BOB),
      value: fc.constantFrom('10000', '20000', '50000'),
      isServedFirst: fc.boolean(),
      steps: fc.array(fc.constantFrom(...STEPS), { maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((all) =>
    all.map(({ steps, ...change }, index) => {
      const { claimed, ...more } = story(index + 1, change)
      return [claimed, ...steps.map((step) => more[step])]
    }),
  )

/** Lists merged into one, each in its own order. @param picks which list goes on */
function interleaved(lists: readonly (readonly Fact[])[], picks: readonly number[]): Fact[] {
  const rest = lists.map((list) => [...list])
  const all: Fact[] = []
  for (let turn = 0; rest.some((list) => list.length > 0); turn++) {
    const left = rest.filter((list) => list.length > 0)
    const next = left[(picks[turn % picks.length] ?? 0) % left.length]?.shift()
    if (next !== undefined) all.push(next)
  }
  return all
}
const picks = fc.array(fc.nat(9), { minLength: 1, maxLength: 40 })

describe('whatever happens', () => {
  test('sums are those over the rows', () => {
    fc.assert(
      fc.property(histories, picks, (lists, order) => {
        const rows = fold(payments, given(...interleaved(lists, order)))
        const all = Object.entries(rows).flatMap(([key, row]) =>
          key.startsWith(PAYMENT_PREFIX) ? [row as Payment] : [],
        )
        for (const payer of [ALICE, BOB, undefined]) {
          const own = all.filter((payment) => payer === undefined || payment.payer === payer)
          if (own.length === 0) continue
          const sum = own.filter(isUnsettled).reduce((total, { value }) => total + BigInt(value), 0n)
          expect(totalsOf(rows, payer)).toMatchObject({
            unsettled: String(sum),
            claims: own.length,
            open: own.filter(isOpen).length,
          })
        }
        const debts = [ALICE, BOB].map((payer) => BigInt(totalsOf(rows, payer)?.debt ?? 0))
        expect(BigInt(totalsOf(rows)?.debt ?? 0)).toBe((debts[0] ?? 0n) + (debts[1] ?? 0n))
        expect(debts.every((debt) => debt >= 0n)).toBe(true)
        const open = Object.keys(rows).filter((key) => key.startsWith(OPEN_PAYMENT_PREFIX))
        expect(open.toSorted()).toEqual(
          all
            .filter(isOpen)
            .map(({ paymentId }) => openPaymentKey(paymentId))
            .toSorted(),
        )
      }),
    )
  })

  test('the order of events of different payments does not matter, but for what was paid while in debt', () => {
    fc.assert(
      fc.property(histories, picks, picks, (lists, order, other) => {
        const [rows, again] = [order, other].map((each) =>
          withoutDebts(fold(payments, given(...interleaved(lists, each)))),
        )
        expect(again).toEqual(rows)
      }),
    )
  })

  test('a row is what its own events make of it', () => {
    fc.assert(
      fc.property(histories, picks, (lists, order) => {
        const events = given(...interleaved(lists, order))
        for (const [key, row] of Object.entries(fold(payments, events))) {
          if (!key.startsWith(PAYMENT_PREFIX)) continue
          const { paymentId } = row as Payment
          const own = events.filter(({ data }) => 'paymentId' in data && data.paymentId === paymentId)
          expect(own.reduce<Payment | undefined>(keepEvolving, undefined)).toEqual(row)
        }
      }),
    )
  })
})

const keepEvolving = (payment: Payment | undefined, event: ServiceEvent): Payment | undefined =>
  evolvePayment(payment, event) ?? payment

const withoutDebts = (rows: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(rows).map(([key, row]) => [key, { ...(row as PayerTotals), debt: undefined }]),
  )
