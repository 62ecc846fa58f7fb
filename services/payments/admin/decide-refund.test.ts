import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { JUST_CLAIMED, type Payment } from '../payment.ts'
import { decideRefund } from './decide-refund.ts'

const FIRST = `0x${'e1'.repeat(32)}`
const SECOND = `0x${'e2'.repeat(32)}`
const paid = {
  ...JUST_CLAIMED,
  product: 'get_trade_call',
  value: '20000',
  state: 'final',
} as unknown as Payment
/** Sent back before, in the first transaction. */
const before = (value: string, change: Partial<Payment> = {}) => ({
  change: { refunded: value, ...change },
  earlier: [{ transaction: FIRST, value }],
})
const allBefore = before('20000', { state: 'refunded' })
type Before = { change: Partial<Payment>; earlier?: { transaction: string; value: string }[] }

function decide({ change, earlier = [] }: Before, transaction: string, value: bigint): string {
  try {
    return decideRefund({ ...paid, ...change } as Payment, earlier, { transaction, value })
  } catch (error) {
    return (error as ServiceError).code
  }
}

describe('a refund', () => {
  test.each<[string, Before, string, bigint, string]>([
    ['of everything is recorded', { change: {} }, FIRST, 20_000n, 'record'],
    ['of a part is recorded', { change: {} }, FIRST, 1n, 'record'],
    ['of the rest is recorded', before('5000'), SECOND, 15_000n, 'record'],
    ['of more than the rest is refused', before('5000'), SECOND, 15_001n, 'state_conflict'],
    ['of more than was paid is refused', { change: {} }, FIRST, 20_001n, 'state_conflict'],
    ['of nothing is refused', { change: {} }, FIRST, 0n, 'state_conflict'],
    ['of less than nothing is refused', { change: {} }, FIRST, -1n, 'state_conflict'],
    ['that is known is known', before('5000'), FIRST, 5_000n, 'known'],
    ['that was of everything is known', allBefore, FIRST, 20_000n, 'known'],
    ['that is known with another amount is refused', before('5000'), FIRST, 6_000n, 'state_conflict'],
    ['of what was given back is refused', allBefore, SECOND, 1n, 'state_conflict'],
  ])('%s', (_, known, transaction, value, expected) => {
    expect(decide(known, transaction, value)).toBe(expected)
  })

  test.each(['owed', 'settling', 'broadcast', 'unknown', 'confirmed', 'uncollectable'] as const)(
    'of a payment that is %s is refused: its money is not there for good',
    (state) => {
      expect(decide({ change: { state } }, FIRST, 1n)).toBe('state_conflict')
    },
  )
})
