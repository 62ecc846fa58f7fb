import { expect, test } from 'vitest'
import { fold, given, quotaDebited, quotaGranted } from '../given-events.fixture.ts'
import { debitIndex, debitKey } from './debit-index.ts'

const [payer, other] = ['5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55', 'anon-0190a000-0000-8000-8000-000000000001']
const [key, request] = ['a'.repeat(64), 'b'.repeat(64)]

test('given calls with and without a key, and a grant, those with one are to be found by payer and key', () => {
  const december = { id: '2026-12', from: Date.UTC(2026, 11, 1), to: Date.UTC(2027, 0, 1) }
  const events = given(
    quotaDebited(),
    quotaGranted(5),
    quotaDebited({ idempotencyHash: key, requestHash: request }),
    quotaDebited({ payerId: other, window: december, idempotencyHash: key }),
  )
  expect(fold(debitIndex, events)).toEqual({
    [debitKey(payer, key)]: { window: '2026-11', revision: 2, requestHash: request },
    [debitKey(other, key)]: { window: '2026-12', revision: 3, requestHash: '1'.repeat(64) },
  })
})
