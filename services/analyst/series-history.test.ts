import { beforeEach, expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { appendFacts, outcomeLabelled, verdictRecorded } from '../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { uuidV8 } from '../runtime/ids/uuid.ts'
import { seriesHistory } from './series-history.ts'

const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const BARS = 100
const idOf = (n: number, kind: number) => uuidV8(Buffer.from([kind, ...Buffer.alloc(14), n]))

let store: EventStore
beforeEach(async () => {
  store = openMemoryStore({ now: () => 0 })
  for (let n = 1; n <= BARS; n++) {
    const at = (bar: number) => ({ verdictId: idOf(bar, 1), barClose: bar * HOUR_MS, call: 'BUY' as const })
    await appendFacts(store, verdictRecorded({ ...at(n), regimeSince: 0 }))
    // The last eight windows are open; outcomes come in pairs, the later one first.
    const of = n % 2 === 1 ? n + 1 : n - 1
    if (of > BARS - 8) continue
    const { stream, event } = outcomeLabelled({ ...at(of), race: of % 3 === 0 ? 'up' : 'down' })
    await appendFacts(store, { stream, event: { ...event, id: idOf(of, 2) } })
  }
})

const read = (market: 'live' | 'simulated', after?: string, limit = 30) => {
  const [verdict = 0, outcome = 0] = (after ?? '').split('.').map(Number)
  const about = { market, now: BARS * HOUR_MS, signal: new AbortController().signal }
  return seriesHistory(store, { series: SERIES, limit, ...(after && { after: { verdict, outcome } }) }, about)
}

test('pages hold every verdict once, newest first, each with its outcome once it has one', async () => {
  const rows = []
  for (let after: string | undefined; ; ) {
    const page = await read('simulated', after)
    rows.push(...page.rows)
    if (page.next === null) break
    after = page.next
  }
  expect(rows.map(({ bar_close }) => Date.parse(bar_close) / HOUR_MS)).toEqual(
    Array.from({ length: BARS }, (_, n) => BARS - n),
  )
  for (const [index, row] of rows.entries()) {
    const n = BARS - index
    const result = n > BARS - 8 ? undefined : n % 3 === 0 ? 'won' : 'lost'
    expect(row.outcome?.result).toBe(result)
    expect(row.is_open).toBe(n > BARS - 8)
  }
})

test('on a live market verdicts are withheld, and counted, until their window has closed', async () => {
  const page = await read('live')
  expect(page).toMatchObject({ withheld: 8 })
  expect(page.rows).toHaveLength(22)
  expect(page.rows.every(({ is_open }) => !is_open)).toBe(true)
})
