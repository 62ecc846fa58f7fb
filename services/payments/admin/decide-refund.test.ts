import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { JUST_CLAIMED, type Payment } from '../../../projections/index.ts'
import { decideRefund } from './decide-refund.ts'

const FIRST = `0x${'e1'.repeat(32)}`
const SECOND = `0x${'e2'.repeat(32)}`
const paid = { ...JUST_CLAIMED, value: '20000', state: 'final' } as unknown as Payment
const BY_ITSELF = {
  by: 'transfer',
  cause: 'answer_not_given',
  why: null,
  value: '20000',
  begunAt: 0,
  isDone: false,
  transaction: null,
} as const

const decide = (
  change: Partial<Payment>,
  earlier: { transaction: string; value: string }[],
  transaction: string,
  value: bigint,
): string => {
  try {
    return decideRefund({ ...paid, ...change } as Payment, earlier, { transaction, value })
  } catch (error) {
    return (error as ServiceError).code
  }
}

describe('a refund', () => {
  test.each<[string, Partial<Payment>, { transaction: string; value: string }[], string, bigint, string]>([
    ['of everything is recorded', {}, [], FIRST, 20_000n, 'record'],
    ['of a part is recorded', {}, [], FIRST, 1n, 'record'],
    [
      'of the rest is recorded',
      { refunded: '5000' },
      [{ transaction: FIRST, value: '5000' }],
      SECOND,
      15_000n,
      'record',
    ],
    [
      'of more than the rest is refused',
      { refunded: '5000' },
      [{ transaction: FIRST, value: '5000' }],
      SECOND,
      15_001n,
      'refund_refused',
    ],
    ['of more than was paid is refused', {}, [], FIRST, 20_001n, 'refund_refused'],
    [
      'of what is given back by itself is refused',
      { refund: BY_ITSELF },
      [],
      FIRST,
      20_000n,
      'refund_refused',
    ],
    ['of nothing is refused', {}, [], FIRST, 0n, 'refund_refused'],
    ['of less than nothing is refused', {}, [], FIRST, -1n, 'refund_refused'],
    [
      'that is known is known',
      { refunded: '5000' },
      [{ transaction: FIRST, value: '5000' }],
      FIRST,
      5_000n,
      'known',
    ],
    [
      'that was of everything is known',
      { refunded: '20000', state: 'refunded' },
      [{ transaction: FIRST, value: '20000' }],
      FIRST,
      20_000n,
      'known',
    ],
    [
      'that is known with another amount is refused',
      { refunded: '5000' },
      [{ transaction: FIRST, value: '5000' }],
      FIRST,
      6_000n,
      'refund_refused',
    ],
    [
      'of what was given back is refused',
      { refunded: '20000', state: 'refunded' },
      [{ transaction: FIRST, value: '20000' }],
      SECOND,
      1n,
      'refund_refused',
    ],
  ])('%s', (_, change, earlier, transaction, value, expected) => {
    expect(decide(change, earlier, transaction, value)).toBe(expected)
  })

  test.each(['owed', 'settling', 'broadcast', 'unknown', 'confirmed', 'uncollectable'] as const)(
    'of a payment that is %s is refused: its money is not there for good',
    (state) => {
      expect(decide({ state }, [], FIRST, 1n)).toBe('refund_refused')
    },
  )
})
