import { describe, expect, test } from 'vitest'
import { MINUTE_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { NOON, startLiveBench } from './testing/live-bench.ts'
import type { LiveExchange } from './venues.ts'

/** Bars of each timeframe before noon that a start has, of a coin of which some minutes are missing. */
async function history(
  isMissing: (minute: number) => boolean,
  {
    exchange = 'HL',
    timeframes = ['1m'],
    historyBars = 1_620,
  }: { exchange?: LiveExchange; timeframes?: readonly Timeframe[]; historyBars?: number } = {},
) {
  await using bench = await startLiveBench({
    exchanges: [exchange],
    isMissing: (_coin, open) => open < NOON && isMissing((NOON - open) / MINUTE_MS),
  })
  const series = timeframes.map((timeframe) => ({ exchange, coin: 'BTC', timeframe }) as const)
  const request = { series, liveFrom: NOON, historyBars }
  const batches = await bench.collect(request, ({ phase }) => phase === 'live')
  const bars = batches.flatMap((batch) => batch.bars)
  const late = batches.filter(({ isLate }) => isLate).length
  const opens = timeframes.map((timeframe) =>
    bars.filter((one) => one.series.timeframe === timeframe).map(({ candle }) => candle.openTime),
  )
  for (const some of opens) expect(some).toEqual(some.toSorted((a, b) => a - b))
  return {
    counts: opens.map(({ length }) => length),
    backMs: NOON - Math.min(...opens.flat()),
    late,
    requests: bench.venue(exchange).requests.get('candles') ?? 0,
    notices: bench.notices.map(({ message }) => message),
  }
}

const oneIn = (count: number) => (minute: number) => minute % count !== 0

describe('a start counts bars', () => {
  test('and reaches back further for a coin of which four of five minutes are missing', async () => {
    const { counts, late, notices } = await history(oneIn(5))
    expect(counts[0]).toBeGreaterThanOrEqual(900)
    expect([late, notices]).toEqual([0, []])
  })

  test('at venues with short pages, too', async () => {
    const { counts, requests } = await history(oneIn(3), { exchange: 'KUCOIN' })
    expect(counts[0]).toBeGreaterThanOrEqual(1_600)
    expect(requests).toBeLessThan(40)
  })

  test('of each timeframe by its own bars', async () => {
    const { counts } = await history(oneIn(4), { exchange: 'BYBIT', timeframes: ['1m', '3m'] })
    for (const count of counts) expect(count).toBeGreaterThanOrEqual(1_200)
  })

  test('and reaches back no further for one of which few are missing', async () => {
    const { counts, backMs, requests } = await history((minute) => minute % 50 === 0)
    expect(counts[0]).toBeGreaterThan(1_500)
    expect(backMs).toBe(1_620 * MINUTE_MS)
    expect(requests).toBeLessThanOrEqual(2)
  })

  test('to a bound, and says so where that is not enough', async () => {
    const { counts, backMs, notices } = await history(oneIn(12), { exchange: 'BYBIT' })
    expect(backMs).toBeLessThanOrEqual(3 * 1_620 * timeframeMs('1m'))
    expect(counts[0]).toBeLessThan(500)
    expect(notices).toEqual([
      expect.stringMatching(/^BYBIT\.BTC\.1m: few bars \(1m 40\d\); a verdict needs 500/),
    ])
  })

  test('but not over a hole of more than twelve bars, behind which a series begins anew', async () => {
    const isHalted = (minute: number) => minute > 1_000 && minute < 1_400
    const { backMs, counts } = await history((minute) => isHalted(minute) || minute % 5 !== 0)
    expect(backMs).toBeLessThanOrEqual(1_620 * MINUTE_MS)
    expect(counts[0]).toBeLessThan(330)
  })

  test('and asks a young coin for no more', async () => {
    const { backMs, notices } = await history((minute) => minute > 300)
    expect(backMs).toBe(300 * MINUTE_MS)
    expect(notices).toEqual([expect.stringContaining('(1m 300); a verdict needs 500')])
  })

  test('and says nothing where fewer were asked for', async () => {
    expect((await history(() => false, { historyBars: 20 })).notices).toEqual([])
  })
})
