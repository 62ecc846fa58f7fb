import { expect, test } from 'vitest'
import { fold, given, quotaDebited } from '../given-events.fixture.ts'
import { debitKey, debits, usageDayPrefix } from './debits.ts'

const [payer, other] = ['5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55', 'anon-0190a000-0000-8000-8000-000000000001']
const [key, request] = ['a'.repeat(64), 'b'.repeat(64)]

test('given calls with and without a key, those with one are to be found by payer and key', () => {
  const december = { id: '2026-12', from: Date.UTC(2026, 11, 1), to: Date.UTC(2027, 0, 1) }
  const rows = fold(
    debits,
    given(
      quotaDebited(),
      quotaDebited({ idempotencyHash: key, requestHash: request }),
      quotaDebited({ payerId: other, window: december, idempotencyHash: key }),
    ),
  )
  const places = Object.entries(rows).filter(([name]) => name.startsWith('key/'))
  expect(Object.fromEntries(places)).toEqual({
    [debitKey(payer, key)]: { window: '2026-11', revision: 1, requestHash: request },
    [debitKey(other, key)]: { window: '2026-12', revision: 2, requestHash: '1'.repeat(64) },
  })
})

test('given calls on two days, each day counts its own by tool, and every payer for itself', () => {
  const rows = fold(
    debits,
    given(
      quotaDebited({ tool: 'get_trade_call' }),
      quotaDebited({ tool: 'scan_trade_calls' }),
      quotaDebited({ tool: 'get_trade_call' }),
      quotaDebited({ tool: 'constructor', day: '2026-11-22' }),
      quotaDebited({ payerId: other }),
    ),
  )
  expect(rows).toEqual({
    [`${usageDayPrefix(payer)}2026-11-21`]: {
      day: '2026-11-21',
      calls: 3,
      tools: { get_trade_call: 2, scan_trade_calls: 1 },
    },
    [`${usageDayPrefix(payer)}2026-11-22`]: {
      day: '2026-11-22',
      calls: 1,
      tools: { ['constructor' as string]: 1 },
    },
    [`${usageDayPrefix(other)}2026-11-21`]: { day: '2026-11-21', calls: 1, tools: { get_trade_call: 1 } },
  })
})
