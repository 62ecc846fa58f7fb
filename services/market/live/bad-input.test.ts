import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { DAY_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { createLeapFilter } from './leap-filter.ts'
import { NOON, startLiveBench } from './testing/live-bench.ts'

const SERIES = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1m' } as const

const bar = (close: number, minute = 0): Candle => ({
  openTime: minute * MINUTE_MS,
  open: close,
  high: close,
  low: close,
  close,
  volume: 1,
})

const closesOf = (bars: readonly Candle[]): number[] => bars.map(({ close }) => close)

describe('prices a hundred times off', () => {
  test('are refused, within a page and from page to page', () => {
    const leaps = createLeapFilter()
    const first = leaps.pass([bar(1e9), bar(100), bar(101), bar(0.5), bar(99)])
    expect(closesOf(first.bars)).toEqual([100, 101, 99])
    expect(first.refused).toContain('1000000000')
    expect(leaps.pass([bar(20_000)])).toMatchObject({ bars: [], refused: expect.any(String) as string })
    expect(leaps.pass([bar(150)])).toEqual({ bars: [bar(150)], refused: undefined })
  })

  test('are believed once three bars in a row agree on them', () => {
    const leaps = createLeapFilter()
    leaps.pass([bar(100)])
    const { bars } = leaps.pass([0.1, 0.11, 0.1, 0.12].map((close) => bar(close)))
    expect(closesOf(bars)).toEqual([0.1, 0.12])
  })
})

test.each<[string, 'row' | 'leap' | 'restated', (row: unknown[]) => unknown[]]>([
  ['a negative price', 'row', (row) => row.with(4, '-5')],
  ['a volume that is no number', 'row', (row) => row.with(5, 'many')],
  ['a time off the grid', 'row', (row) => row.with(0, Number(row[0]) + 7)],
  [
    'a price with digits too many',
    'leap',
    (row) => row.map((cell, at) => (at >= 1 && at <= 4 ? `${String(cell).replace('.', '')}00000` : cell)),
  ],
])('%s is refused, counted, and costs its bar only', async (_name, fault, spoil) => {
  await using bench = await startLiveBench({ exchanges: ['BINANCE'], historyBars: 20 })
  const venue = bench.venue('BINANCE')
  const bad = NOON + 2 * MINUTE_MS
  const rowOf = (openTime: number): unknown[] => {
    const { open, high, low, close, volume } = venue.market.candle('BTC', '1m', openTime)
    return [openTime, ...[open, high, low, close, volume].map(String)]
  }
  const opens: number[] = []
  let faults = bench.feed.venues()[0]?.faults
  await bench.collect({ series: [SERIES] }, ({ bars, at, isLate }) => {
    opens.push(...bars.map(({ candle }) => candle.openTime))
    if (at === bad) {
      const rows = [rowOf(bad - MINUTE_MS), spoil(rowOf(bad)), rowOf(bad + MINUTE_MS)]
      venue.fail('candles', { kind: 'instead', text: JSON.stringify(rows) }, 3)
    }
    faults = bench.feed.venues()[0]?.faults
    return at >= NOON + 8 * MINUTE_MS && isLate === undefined
  })
  expect(opens.filter((open) => open > NOON - MINUTE_MS && open !== bad)).toEqual(
    [0, 1, 3, 4, 5, 6, 7].map((minute) => NOON + minute * MINUTE_MS),
  )
  expect(faults?.[fault]).toBeGreaterThan(0)
})

test('a newest bar that is told differently afterwards stands as it was, and is counted', async () => {
  await using bench = await startLiveBench({ exchanges: ['BINANCE'], historyBars: 5 })
  const venue = bench.venue('BINANCE')
  const told: BarBatch[] = []
  let faults = bench.feed.venues()[0]?.faults
  await bench.collect({ series: [SERIES] }, (batch) => {
    told.push(batch)
    if (batch.at === NOON + MINUTE_MS) {
      const { open, high, low, close, volume } = venue.market.candle('BTC', '1m', NOON)
      const text = JSON.stringify([[NOON, ...[open, high, low, close, volume * 2].map(String)]])
      venue.fail('candles', { kind: 'instead', text }, 1)
    }
    faults = bench.feed.venues()[0]?.faults
    return batch.at >= NOON + 4 * MINUTE_MS
  })
  expect(faults).toEqual({ row: 0, leap: 0, restated: 2, clock: 0 })
  const first = told.flatMap(({ bars }) => bars).filter(({ candle }) => candle.openTime === NOON)
  expect(first).toHaveLength(1)
})

test('a venue whose clock goes back is counted, and nothing is taken of it before it is where it was', async () => {
  let behindMs = 0
  await using bench = await startLiveBench({
    exchanges: ['BINANCE'],
    historyBars: 5,
    venuesBehindMs: () => behindMs,
  })
  const opens: number[] = []
  let faults = bench.feed.venues()[0]?.faults
  await bench.collect({ series: [SERIES] }, ({ at, bars }) => {
    opens.push(...bars.map(({ candle }) => candle.openTime))
    if (at === NOON + 3 * MINUTE_MS) behindMs = 10 * MINUTE_MS
    faults = bench.feed.venues()[0]?.faults
    return at >= NOON + 5 * MINUTE_MS
  })
  expect(faults?.clock).toBeGreaterThan(0)
  expect(bench.clock.now()).toBeGreaterThanOrEqual(NOON + 14 * MINUTE_MS)
  expect(opens).toEqual(opens.toSorted((a, b) => a - b))
})

test.each([403, 451])('a venue that answers %d for a day is asked now and then', async (status) => {
  await using bench = await startLiveBench({ exchanges: ['BINANCE'], coins: ['BTC', 'ETH'], historyBars: 5 })
  const venue = bench.venue('BINANCE')
  const count = (): number => [...venue.requests.values()].reduce((sum, requests) => sum + requests, 0)
  const series = ['BTC', 'ETH'].map((coin) => ({ ...SERIES, coin }))
  let before = 0
  let during = 0
  await bench.collect({ series }, ({ at }) => {
    if (at === NOON + MINUTE_MS) {
      before = count()
      for (const route of ['candles', 'markets', 'funding', 'intervals'] as const)
        venue.fail(route, { kind: 'status', status, text: '<html>403 Forbidden</html>' })
      const heal = (): void => {
        during = count() - before
        venue.heal()
      }
      void bench.clock.sleep(DAY_MS, new AbortController().signal).then(heal)
    }
    return at >= NOON + DAY_MS + MINUTE_MS
  })
  expect(during).toBeLessThan(320)
  expect(during).toBeGreaterThan(50)
})
