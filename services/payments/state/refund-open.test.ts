import { expect, test } from 'vitest'
import { isRefundOpen, JUST_CLAIMED, type Payment, type PaymentRefund } from './payment-state.ts'

const withheld = { ...JUST_CLAIMED, withheldAt: 1, withheldBy: 'payment_pending' } as unknown as Payment
const refund = { by: 'transfer', isDone: false } as unknown as PaymentRefund

test.each<[string, Partial<Payment>, boolean]>([
  ['owed, and withheld', {}, true],
  ['final, and withheld', { state: 'final' }, true],
  ['given after all', { state: 'final', isGiven: true }, false],
  ['late through its payer', { state: 'final', wasRefused: true }, false],
  ['never withheld', { state: 'final', withheldAt: null }, false],
  // Nothing has come, or it is back already: each of these alone is the end of it.
  ['uncollectable', { state: 'uncollectable' }, false],
  ['refunded', { state: 'refunded' }, false],
  ['paid by a credit', { state: 'credited' }, false],
  ['being given back, whatever its state says', { state: 'refunded', refund }, true],
  ['given back', { state: 'final', refund: { ...refund, isDone: true } }, false],
])('a payment that is %s: a refund is open %s', (_, change, isOpen) => {
  expect(isRefundOpen({ ...withheld, ...change } as Payment)).toBe(isOpen)
})
