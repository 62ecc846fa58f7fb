import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { BarBatch } from '../../../../contracts/feed.ts'
import { type Series, seriesName } from '../../../../contracts/series.ts'
import { MINUTE_MS, type Timeframe } from '../../../../contracts/timeframes.ts'
import { startLiveBench } from '../testing/live-bench.ts'
import type { LiveExchange } from '../venues.ts'
import { keptBar } from './kept-bar.ts'
import { keptFile, readKept } from './kept-files.ts'

const START = Date.UTC(2026, 2, 3, 11, 52, 30)
const TIMEFRAMES: readonly Timeframe[] = ['1m', '5m', '1h', '4h']

const seriesOf = (exchange: LiveExchange): Series[] =>
  TIMEFRAMES.map((timeframe) => ({ exchange, coin: 'BTC', timeframe }))

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'keeping-'))

/** The batches of a start at an instant, until some minutes later. */
async function told(exchange: LiveExchange, keepsIn: string | undefined, start: number, minutes = 12) {
  await using bench = await startLiveBench({
    exchanges: [exchange],
    start,
    historyBars: 520,
    ...(keepsIn !== undefined && { keepsIn }),
  })
  const end = start + minutes * MINUTE_MS
  const batches = await bench.collect({ series: seriesOf(exchange), keeps: true }, ({ at }) => at >= end)
  const venue = bench.venue(exchange)
  return { batches, candleRequests: venue.requests.get('candles') ?? 0, notices: bench.notices }
}

const lines = (batches: readonly BarBatch[]): string[] =>
  batches.flatMap(({ bars }) =>
    bars.map(({ series, candle }) => `${seriesName(series)} ${JSON.stringify(candle)}`),
  )

const keptMinutes = (folder: string, exchange: LiveExchange, at: number) =>
  readKept(keptFile(folder, { exchange, coin: 'BTC', timeframe: '1m' }, at))

// BINANCE tells takers' buying and trades; HL trades, open interest and mark; BINGX none of it.
test.each([
  ['BINANCE', ['takerBuyVolume', 'trades']],
  ['HL', ['trades', 'openInterest', 'mark']],
  ['BYBIT', ['openInterest', 'mark']],
  ['BINGX', []],
] as const)('%s: live bars are kept with what the venue tells of them', async (exchange, tells) => {
  const folder = newFolder()
  const { notices } = await told(exchange, folder, START)
  expect(notices).toEqual([])
  const kept = await keptMinutes(folder, exchange, START)
  expect(kept.length).toBeGreaterThan(520)
  for (const field of ['takerBuyVolume', 'trades', 'openInterest', 'mark'] as const) {
    const said = kept.filter((bar) => !Number.isNaN(bar[field]))
    expect(said.length > 0, field).toBe((tells as readonly string[]).includes(field))
    // Positions are what they are now: nothing is known of the past.
    if (field === 'openInterest' || field === 'mark')
      expect(said.every(({ openTime }) => openTime + MINUTE_MS > START)).toBe(true)
  }
})

test.each<[LiveExchange]>([['BINANCE'], ['HL']])(
  'a restart after a gap reads what was kept, asks for the rest, and tells the same: %s',
  async (exchange) => {
    const folder = newFolder()
    await told(exchange, folder, START)
    const later = START + 3 * 60 * MINUTE_MS
    const withKept = await told(exchange, folder, later, 6)
    const without = await told(exchange, undefined, later, 6)
    expect(lines(withKept.batches)).toEqual(lines(without.batches))
    expect(withKept.candleRequests).toBeLessThanOrEqual(without.candleRequests)
    const kept = await keptMinutes(folder, exchange, later)
    const opens = kept.map(({ openTime }) => openTime)
    expect(opens).toEqual(opens.map((_, index) => (opens[0] ?? 0) + index * MINUTE_MS))
  },
)

test('of a bar that the venue restated, a restart tells the version that was kept', async () => {
  const [folder, other] = [newFolder(), newFolder()]
  const [exchange, at] = ['BINANCE', Math.floor(START / MINUTE_MS) * MINUTE_MS - 100 * MINUTE_MS] as const
  await told(exchange, folder, START, 2)
  const before = (await keptMinutes(folder, exchange, at)).map((bar) =>
    bar.openTime === at ? keptBar({ ...bar, volume: bar.volume + 1 }) : bar,
  )
  const options = { exchanges: [exchange], coins: ['BTC'], start: START, keepsIn: other }
  await using bench = await startLiveBench(options)
  await bench.kept?.keep({ exchange, coin: 'BTC', timeframe: '1m' }, before)
  const { batches } = await told(exchange, other, START, 2)
  const found = batches
    .flatMap(({ bars }) => bars)
    .find(({ series, candle }) => series.timeframe === '1m' && candle.openTime === at)
  expect(found?.candle.volume).toBe(before.find(({ openTime }) => openTime === at)?.volume)
})
