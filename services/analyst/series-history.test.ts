import { beforeEach, expect, test } from 'vitest'
import { OutcomeLabelled, VerdictRecorded } from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import type { Outcome } from '../../contracts/outcome.ts'
import { outcomeStream, verdictStream } from '../../contracts/streams.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import { openMemoryStore } from '../platform/event-store/memory/memory-store.ts'
import { uuidV8 } from '../platform/ids/uuid.ts'
import { seriesHistory } from './series-history.ts'

const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const BARS = 100
const META = { correlationId: 'test', actor: 'test' }
const idOf = (n: number, kind: number) => uuidV8(Buffer.from([kind, ...Buffer.alloc(14), n]))

let store: EventStore
beforeEach(async () => {
  store = openMemoryStore({ now: () => 0 })
  for (let n = 1; n <= BARS; n++) {
    const verdict = aVerdict({ verdictId: idOf(n, 1), barClose: n * HOUR_MS, call: 'BUY', regimeSince: 0 })
    await store.append(
      verdictStream(SERIES),
      [newEvent(VerdictRecorded, { id: verdict.verdictId, data: verdict, meta: META })],
      { expected: 'any' },
    )
    // The last eight windows are open; outcomes come in pairs, the later one first.
    const of = n % 2 === 1 ? n + 1 : n - 1
    if (of > BARS - 8) continue
    const { verdictId, barClose, validUntil, modelVersion, call, probability, barrier } = aVerdict({
      verdictId: idOf(of, 1),
      barClose: of * HOUR_MS,
      call: 'BUY',
    })
    const data: Outcome = {
      ...SERIES,
      verdictId,
      barClose,
      validUntil,
      modelVersion,
      call,
      probability,
      barrier,
      race: of % 3 === 0 ? 'up' : 'down',
      entryPrice: 1,
      exitPrice: 1,
      decidedAt: validUntil,
      highest: 0,
      lowest: 0,
      recordedLate: false,
    }
    await store.append(
      outcomeStream(SERIES),
      [newEvent(OutcomeLabelled, { id: idOf(of, 2), data, meta: META })],
      {
        expected: 'any',
      },
    )
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
