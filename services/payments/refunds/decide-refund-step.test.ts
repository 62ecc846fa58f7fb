import { describe, expect, test } from 'vitest'
import { JUST_CLAIMED, type Payment, type PaymentRefund } from '../state/payment-state.ts'
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
const over = (value: bigint) => ({ value, cause: 'answer_not_given' })

const GIVEN_UP: Partial<Payment> = { state: 'uncollectable', validBeforeS: LATER / 1_000 }

interface Case {
  /** The unusual members of the payment, and the state of its transfer back. */
  readonly of: Partial<Payment>
  readonly sent?: Partial<Payment>
  readonly now?: number
  readonly more?: object
}

describe('what a refund needs next', () => {
  test.each<[string, string, Case]>([
    ['nothing', 'where nothing was withheld', { of: {} }],
    ['begin', 'once the time to ask again is over', { of: withheld, more: over(20_000n) }],
    ['wait', 'while it may be asked for again', { of: withheld, now: LATER - 1 }],
    ['nothing', 'where it was given', { of: { ...withheld, isGiven: true } }],
    ['nothing', 'where the payer was the reason', { of: { ...withheld, wasRefused: true } }],
    ['wait', 'for finality: a block may be taken back', { of: { ...withheld, state: 'confirmed' } }],
    ['wait', 'for the settlement first', { of: { ...withheld, state: 'unknown' } }],
    ['nothing', 'where nothing was paid', { of: { ...withheld, state: 'uncollectable' } }],
    [
      'begin',
      'over what is left, where the operator has sent back a part',
      { of: { ...withheld, refunded: '5000' }, more: over(15_000n) },
    ],
    [
      'nothing',
      'where the operator has sent back all',
      { of: { ...withheld, refunded: '20000', state: 'refunded' } },
    ],
    [
      'begin',
      'at once, where a plan has not begun: it never will',
      { of: { ...withheld, accountId: 'a' }, now: NOON, more: { value: 20_000n, cause: 'plan_not_begun' } },
    ],
    ['authorise', 'with a signature', { of: begun({}), more: { value: 20_000n } }],
    ['wait', 'while it is sent', { of: begun({}), sent: { state: 'broadcast' } }],
    ['wait', 'for finality of its own', { of: begun({}), sent: { state: 'confirmed' } }],
    [
      'sent',
      'once it is final',
      {
        of: begun({}),
        sent: { state: 'final', transaction: '0xab' },
        more: { transaction: '0xab', value: 20_000n },
      },
    ],
    [
      'wait',
      'where it was given up and could yet be sent by somebody',
      { of: begun({}), sent: GIVEN_UP, now: LATER + WAITS.graceMs - 1 },
    ],
    [
      'credit',
      'once nothing of it can arrive',
      { of: begun({}), sent: GIVEN_UP, now: LATER + WAITS.graceMs, more: over(20_000n) },
    ],
    [
      'giveCredit',
      'where that was decided',
      { of: begun({ by: 'credit', why: 'no_wallet' }), more: { value: 20_000n } },
    ],
    ['nothing', 'once it is done', { of: begun({ isDone: true }) }],
  ])('%s %s', (kind, _, { of, sent, now = LATER, more = {} }) => {
    const facts = { payment: { ...payment, ...of } as unknown as Payment, transfer: sent && transfer(sent) }
    expect(decideRefundStep(facts, now, WAITS)).toEqual({ kind, ...more })
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
