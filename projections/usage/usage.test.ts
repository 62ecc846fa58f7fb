import { expect, test } from 'vitest'
import { fold, given, quotaDebited, quotaGranted } from '../given-events.fixture.ts'
import { usage, usageDayPrefix, usageDebitPrefix } from './usage.ts'

const payer = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'

test('given calls on two days, each is listed in order, and the days count them by tool', () => {
  const rows = fold(
    usage,
    given(
      quotaDebited({ tool: 'get_trade_call', used: 1 }),
      quotaDebited({ tool: 'scan_trade_calls', used: 2, channel: 'mcp' }),
      quotaGranted(5),
      quotaDebited({ tool: 'get_trade_call', used: 3 }),
      quotaDebited({ tool: 'get_trade_call', used: 4, day: '2026-11-22' }),
      quotaDebited({ payerId: 'anon-1' }),
    ),
  )
  const listed = Object.entries(rows).filter(([key]) => key.startsWith(usageDebitPrefix(payer)))
  expect(listed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)).toMatchObject([
    { tool: 'get_trade_call', channel: 'http', used: 1, window: '2026-11', at: '2025-01-01T00:00:00.000Z' },
    { tool: 'scan_trade_calls', channel: 'mcp', used: 2 },
    { used: 3 },
    { used: 4 },
  ])
  expect(rows[`${usageDayPrefix(payer)}2026-11-21`]).toEqual({
    day: '2026-11-21',
    calls: 3,
    tools: { get_trade_call: 2, scan_trade_calls: 1 },
  })
  expect(rows[`${usageDayPrefix(payer)}2026-11-22`]).toMatchObject({ calls: 1 })
  expect(rows[`${usageDayPrefix('anon-1')}2026-11-21`]).toMatchObject({ calls: 1 })
})

test('given a thousand calls in one instant, they are listed in the order of their stream', () => {
  const rows = fold(
    usage,
    given(...Array.from({ length: 1_001 }, (_, n) => quotaDebited({ used: n + 1, usedToday: n + 1 }))),
  )
  const listed = Object.entries(rows).filter(([key]) => key.startsWith(usageDebitPrefix(payer)))
  const inOrder = listed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row.used)
  expect(inOrder).toEqual(Array.from({ length: 1_001 }, (_, n) => n + 1))
})
