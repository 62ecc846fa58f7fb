import { describe, expect, test } from 'vitest'
import { JUST_CLAIMED, type Payment, type PaymentRefund } from '../../../projections/index.ts'
import { decideRefundStep, decideRefundWay } from './decide-refund-step.ts'

const NOON = Date.UTC(2026, 10, 23, 12)
const WAITS = { afterMs: 600_000, graceMs: 60_000 }
const payment = { ...JUST_CLAIMED, state: 'final', value: '20000', accountId: null }
const withheld = { withheldAt: NOON, withheldBy: 'payment_pending' }
const begun = (change: Partial<PaymentRefund>): Partial<Payment> => ({
  ...withheld,
  refund: {
    by: 'transfer',
    cause: 'answer_not_given',
    why: null,
    value: '20000',
    begunAt: NOON,
    isDone: false,
    transaction: null,
    ...change,
  },
})
const transfer = (change: Partial<Payment>): Payment =>
  ({ ...payment, isRefund: true, validBeforeS: NOON / 1_000, ...change }) as unknown as Payment

const LATER = NOON + WAITS.afterMs
const BEGIN = { kind: 'begin', value: 20_000n, cause: 'answer_not_given' }

describe('what a refund needs next', () => {
  test.each<[string, Partial<Payment>, Payment | undefined, number, object]>([
    ['nothing, where nothing was withheld', {}, undefined, LATER, { kind: 'nothing' }],
    ['to be begun, once the time to ask again is over', withheld, undefined, LATER, BEGIN],
    ['time, while it may be asked for again', withheld, undefined, LATER - 1, { kind: 'wait' }],
    ['nothing, where it was given', { ...withheld, isGiven: true }, undefined, LATER, { kind: 'nothing' }],
    [
      'nothing, where the payer was the reason',
      { ...withheld, wasRefused: true },
      undefined,
      LATER,
      { kind: 'nothing' },
    ],
    [
      'finality: a block may be taken back',
      { ...withheld, state: 'confirmed' },
      undefined,
      LATER,
      { kind: 'wait' },
    ],
    ['the settlement first', { ...withheld, state: 'unknown' }, undefined, LATER, { kind: 'wait' }],
    [
      'nothing, where nothing was paid',
      { ...withheld, state: 'uncollectable' },
      undefined,
      LATER,
      { kind: 'nothing' },
    ],
    [
      'to be begun over what is left, where the operator has sent back a part',
      { ...withheld, refunded: '5000' },
      undefined,
      LATER,
      { ...BEGIN, value: 15_000n },
    ],
    [
      'nothing, where the operator has sent back all',
      { ...withheld, refunded: '20000', state: 'refunded' },
      undefined,
      LATER,
      { kind: 'nothing' },
    ],
    [
      'to be begun at once, where a plan has not begun: it never will',
      { ...withheld, accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55' },
      undefined,
      NOON,
      { ...BEGIN, cause: 'plan_not_begun' },
    ],
    ['a signature', begun({}), undefined, LATER, { kind: 'authorise', value: 20_000n }],
    ['time, while it is sent', begun({}), transfer({ state: 'broadcast' }), LATER, { kind: 'wait' }],
    ['finality of its own', begun({}), transfer({ state: 'confirmed' }), LATER, { kind: 'wait' }],
    [
      'to be recorded, once it is final',
      begun({}),
      transfer({ state: 'final', transaction: '0xab' }),
      LATER,
      { kind: 'sent', transaction: '0xab', value: 20_000n },
    ],
    [
      'time, where it was given up and could yet be sent by somebody',
      begun({}),
      transfer({ state: 'uncollectable', validBeforeS: LATER / 1_000 }),
      LATER + WAITS.graceMs - 1,
      { kind: 'wait' },
    ],
    [
      'a credit, once nothing of it can arrive',
      begun({}),
      transfer({ state: 'uncollectable', validBeforeS: LATER / 1_000 }),
      LATER + WAITS.graceMs,
      { kind: 'credit', value: 20_000n, cause: 'answer_not_given' },
    ],
    [
      'its credit',
      begun({ by: 'credit', why: 'no_wallet' }),
      undefined,
      LATER,
      { kind: 'giveCredit', value: 20_000n },
    ],
    ['nothing, once it is done', begun({ isDone: true }), undefined, LATER, { kind: 'nothing' }],
  ])('%s', (_, change, sent, now, expected) => {
    const facts = { payment: { ...payment, ...change } as unknown as Payment, transfer: sent }
    expect(decideRefundStep(facts, now, WAITS)).toEqual(expected)
  })
})

const purse = { balance: 100_000n, promised: 0n, allotted: 0n, cap: 50_000n }
test.each([
  ['transfer', {}],
  ['no_wallet', { balance: undefined }],
  ['wallet_empty', { balance: 19_999n }],
  ['wallet_empty', { promised: 80_001n }],
  ['transfer', { promised: 80_000n }],
  ['daily_cap', { allotted: 30_001n }],
  ['transfer', { allotted: 30_000n }],
])('%s for a purse with %o', (expected, change) => {
  expect(decideRefundWay(20_000n, { ...purse, ...change })).toBe(expected)
})
