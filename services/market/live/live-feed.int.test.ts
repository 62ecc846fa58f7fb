import { describe, expect, test } from 'vitest'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { type LiveBench, startLiveBench } from './testing/live-bench.ts'
import { LIVE_EXCHANGES, type LiveExchange } from './venues.ts'

/** A few minutes before an hour, so that live bars of all but the longest timeframes close soon. */
const START = Date.UTC(2026, 2, 3, 11, 53, 40)
const LIVE_FROM = Date.UTC(2026, 2, 3, 11, 53)
const LAST = Date.UTC(2026, 2, 3, 12, 2)

const allOf = (exchange: LiveExchange, coin: string): Series[] =>
  TIMEFRAMES.map((timeframe) => ({ exchange, coin, timeframe }))

const isAt = (instant: number) => (batch: BarBatch) => batch.at >= instant

/** Every bar must be the true one; volumes went through text and contract sizes. */
function expectTruth(bench: LiveBench, exchange: LiveExchange, batches: readonly BarBatch[]): void {
  const { market } = bench.venue(exchange)
  const wrong: unknown[] = []
  for (const { at, bars } of batches) {
    for (const { series, candle } of bars) {
      const { volume, ...prices } = market.candle(series.coin, series.timeframe, candle.openTime)
      const isTrue =
        candle.openTime + timeframeMs(series.timeframe) === at &&
        Object.entries(prices).every(([field, value]) => candle[field as 'open'] === value) &&
        Math.abs(candle.volume - volume) <= volume * 1e-9
      if (!isTrue) wrong.push({ at, name: seriesName(series), candle, truth: { ...prices, volume } })
    }
  }
  expect(wrong.slice(0, 2)).toEqual([])
}

describe.each(LIVE_EXCHANGES)('%s', (exchange) => {
  test('lists its perpetual contracts and ranks them', async () => {
    await using bench = await startLiveBench({
      exchanges: [exchange],
      coins: ['BTC', 'DOGE', 'ETH'],
      start: START,
    })
    const listings = await bench.clock.runUntil(bench.feed.listings())
    expect(listings.map(({ coin }) => coin)).toEqual(['BTC', 'DOGE', 'ETH'])
    expect(listings[0]?.timeframes).toEqual(TIMEFRAMES)
    const universe = await bench.clock.runUntil(bench.feed.universe(exchange))
    const { market, unknownPaths } = bench.venue(exchange)
    const truth = ['BTC', 'ETH', 'DOGE']
      .map((coin) => market.ticker(coin))
      .toSorted((a, b) => b.turnover - a.turnover)
    expect(universe.coins.map(({ coin }) => coin)).toEqual(truth.map(({ coin }) => coin))
    for (const [index, entry] of universe.coins.entries()) {
      const ticker = truth[index]
      // OKX says its turnover in coins only, so it is taken at the last price.
      expect(entry.quoteVolume24h / (ticker?.turnover ?? 0)).toBeCloseTo(1, exchange === 'OKX' ? 0 : 6)
    }
    expect(unknownPaths).toEqual([])
  })

  test('history, seam and live bars are the true ones, without a gap', async () => {
    await using bench = await startLiveBench({
      exchanges: [exchange],
      coins: ['BTC', 'ETH'],
      start: START,
      historyBars: 520,
    })
    const series = [...allOf(exchange, 'BTC'), { exchange, coin: 'ETH', timeframe: '5m' } as const]
    const batches = await bench.collect({ series }, isAt(LAST))
    expectTruth(bench, exchange, batches)
    expect(bench.notices).toEqual([])

    const seam = batches.findIndex(({ phase }) => phase === 'live')
    expect(batches[seam]).toEqual({ at: LIVE_FROM, phase: 'live', bars: [], funding: [] })
    expect(batches.slice(seam).every(({ phase }) => phase === 'live')).toBe(true)
    const told = batches.filter((batch) => batch.bars.length > 0)
    expect(told.every(({ at }, index) => index === 0 || at > (told[index - 1]?.at ?? 0))).toBe(true)

    for (const one of series) {
      const opens = batches.flatMap(({ bars }) =>
        bars.filter((bar) => seriesName(bar.series) === seriesName(one)).map(({ candle }) => candle.openTime),
      )
      const lengthMs = timeframeMs(one.timeframe)
      const last = Math.floor(LAST / lengthMs) * lengthMs - lengthMs
      expect(opens, seriesName(one)).toEqual(
        opens.map((_, index) => last - (opens.length - 1 - index) * lengthMs),
      )
      expect(opens.length, seriesName(one)).toBeGreaterThanOrEqual(500)
    }
  })

  test('funding has the interval of each contract, and new settlements come live', async () => {
    await using bench = await startLiveBench({
      exchanges: [exchange],
      coins: ['BTC', 'DOGE', 'LINK'],
      start: Date.UTC(2026, 2, 3, 15, 55),
      historyBars: 1,
    })
    const series: Series[] = ['BTC', 'DOGE', 'LINK'].map((coin) => ({ exchange, coin, timeframe: '1m' }))
    const batches = await bench.collect({ series }, isAt(Date.UTC(2026, 2, 3, 16, 12)))
    for (const { coin } of series) {
      const updates = batches.flatMap((batch) => batch.funding.filter(({ market }) => market.coin === coin))
      const got = updates.map((update) => update.funding)
      const truth = bench.venue(exchange).market.funding(coin, 0, bench.clock.now())
      expect([got.length > 80, bench.notices], coin).toEqual([true, []])
      expect(got.at(-1)?.time, coin).toBe(Date.UTC(2026, 2, 3, 16))
      expect(got, coin).toEqual(truth.slice(-got.length))
    }
  })
})
