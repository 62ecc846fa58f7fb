import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../contracts/timeframes.ts'
import type { UsedSeries } from '../../services/engine/provenance.ts'
import { keptBar } from '../../services/market/live/kept/kept-bar.ts'
import { KeptBars } from '../../services/market/live/kept/kept-bars.ts'
import { type DataSelection, readHistories } from './read-histories.ts'
import type { SeriesHistory } from './series-history.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'histories-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Hourly bars at a price of their own, so that a bar tells its file. */
async function record(
  name: string,
  price: number,
  from: number,
  bars: number,
  without: (hour: number) => boolean = () => false,
) {
  const rows = Array.from({ length: bars }, (_, index) => from + index)
    .filter((hour) => !without(hour))
    .map((hour) => `${hour * HOUR_MS},${price},${price + 1},${price - 1},${price},1`)
  await mkdir(dirname(join(folder, name)), { recursive: true })
  await writeFile(join(folder, name), ['ts,open,high,low,close,volume', ...rows, ''].join('\n'))
}

async function read(more: Partial<DataSelection> = {}) {
  const used: UsedSeries[] = []
  const left: string[] = []
  const selection = { folders: [join(folder, 'a'), join(folder, 'b')], timeframes: ['1h'] as const, ...more }
  const hearer = {
    report: (line: string) => left.push(line),
    used: (series: UsedSeries) => used.push(series),
  }
  const histories: SeriesHistory[] = []
  for await (const history of readHistories(selection, hearer)) histories.push(history)
  const told = histories.map(({ series, isSpot, bars }) => [
    series.exchange,
    series.timeframe,
    isSpot,
    (bars[0]?.openTime ?? 0) / HOUR_MS,
    bars.length,
  ])
  return { histories, told, used, left }
}

test('folders are read as one: what overlaps counts once, and spot only where there is no perpetual contract', async () => {
  await record('a/binance-spot/BTCUSDT-1h.csv', 100, 0, 2_000)
  await record('a/binance-usdm/BTCUSDT-1h.a.csv', 200, 1_000, 1_500)
  await record('b/binance-usdm/BTCUSDT-1h.b.csv', 300, 2_000, 1_400)
  await record('b/binance-usdm/BTCUSDT-1h.taker.csv', 400, 0, 5_000)
  const { histories, told, used, left } = await read()
  expect(told).toEqual([
    ['BINANCE', '1h', true, 0, 1_000],
    ['BINANCE', '1h', false, 1_000, 2_400],
  ])
  // The seam of two recordings of one market is no gap.
  expect(histories[1]?.bars.map(({ close }) => close).filter((close) => close === 300)).toHaveLength(900)
  expect(used.map(({ market, bars }) => [market, bars])).toEqual([
    ['spot', 2_000],
    ['perpetual', 1_500],
    ['perpetual', 1_400],
  ])
  expect(left.join()).toContain('BTCUSDT-1h.taker.csv: it has columns of order flow')
})

test('a gap of more than 12 bars begins a new history, and a short rest is left out', async () => {
  const gaps = (hour: number) => (hour >= 900 && hour < 912) || (hour >= 2_000 && hour < 2_013)
  await record('a/binance-usdm/BTCUSDT-1h.csv', 100, 0, 2_700, gaps)
  await record('b/binance-usdm/ETHUSDT-1h.csv', 100, 0, 599)
  expect((await read()).told).toEqual([
    ['BINANCE', '1h', false, 0, 1_988],
    ['BINANCE', '1h', false, 2_013, 687],
  ])
})

test('longer bars are made of shorter ones, whole ones only, up to the instant that is asked for', async () => {
  await record('a/binance-usdm/BTCUSDT-1h.csv', 100, 5, 24 * 700)
  await mkdir(join(folder, 'b'))
  const { told, histories } = await read({ timeframes: ['1d'], until: 650 * DAY_MS + 5 })
  expect(told).toEqual([['BINANCE', '1d', false, 24, 649]])
  expect(histories[0]?.bars[0]?.volume).toBe(24)
})

test('data without a series that is wanted is refused', async () => {
  await record('a/binance-usdm/BTCUSDT-1h.csv', 100, 0, 700)
  await mkdir(join(folder, 'b'))
  await expect(read({ timeframes: ['1m'] })).rejects.toThrow(
    'The data has no series of 1m with at least 600 bars.',
  )
  await expect(read({ folders: [join(folder, 'c')] })).rejects.toThrow('does not exist')
})

test('days and months that the service kept are one history, their order flow left out', async () => {
  const kept = new KeptBars({
    folder: join(folder, 'a'),
    keepDays: 400,
    now: () => 3 * DAY_MS,
    random: () => 0.5,
    report: (message) => expect.fail(message),
  })
  const bars = Array.from({ length: 2 * 1_440 }, (_, minute) =>
    keptBar(
      { openTime: minute * MINUTE_MS, open: 100, high: 101, low: 99, close: 100, volume: 1 },
      { takerBuyVolume: 0.5 },
    ),
  )
  await kept.keep({ exchange: 'HL', coin: 'BTC', timeframe: '1m' }, bars)
  await kept.tidy()
  const { told, left } = await read({ folders: [join(folder, 'a')], timeframes: ['1m'] })
  expect(left).toEqual([])
  expect(told).toEqual([['HL', '1m', false, 0, 2 * 1_440]])
})
