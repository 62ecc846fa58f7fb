import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { NOON, startLiveBench } from './testing/live-bench.ts'
import type { LiveExchange } from './venues.ts'

/** Bars after noon that were told, each with how long after its close; minutes are published so late, each. */
async function told(
  lateByMs: (minute: number) => number,
  {
    exchange = 'HL',
    timeframe = '1m',
    minutes = 12,
  }: { exchange?: LiveExchange; timeframe?: Timeframe; minutes?: number } = {},
) {
  let now = () => 0
  await using bench = await startLiveBench({
    exchanges: [exchange],
    historyBars: 30,
    isMissing: (_coin, open) =>
      now() < open + MINUTE_MS + (open < NOON ? 0 : lateByMs((open - NOON) / MINUTE_MS)),
  })
  now = bench.clock.now
  const series = [{ exchange, coin: 'BTC', timeframe }] as const
  const bars: { open: number; afterMs: number }[] = []
  const lengthMs = timeframeMs(timeframe)
  await bench.collect({ series, liveFrom: NOON }, ({ at, bars: closed }) => {
    for (const { candle } of closed)
      if (candle.openTime >= NOON)
        bars.push({
          open: (candle.openTime - NOON) / lengthMs,
          afterMs: bench.clock.now() - candle.openTime - lengthMs,
        })
    return at >= NOON + minutes * MINUTE_MS
  })
  return {
    opens: bars.map(({ open }) => open),
    slowest: Math.max(...bars.map(({ afterMs }) => afterMs)),
    requests: bench.venue(exchange).requests.get('candles') ?? 0,
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, open) => open)
const FOREVER = Number.POSITIVE_INFINITY
const late = (minute: number, byMs: number) => (one: number) => (one === minute ? byMs : 0)

describe('a minute that a venue publishes late', () => {
  test.each(['HL', 'GATE', 'KUCOIN'] as const)(
    'half a minute later is told in order: %s',
    async (exchange) => {
      expect((await told(late(3, 30_000), { exchange })).opens).toEqual(upTo(12))
    },
  )

  test.each([75_000, 100_000, 140_000])(
    '%d ms later is told in order, after the next ones were there',
    async (byMs) => {
      const { opens, slowest } = await told(late(3, byMs))
      expect(opens).toEqual(upTo(12))
      // Before the series counts as stale.
      expect(slowest).toBeLessThan(180_000)
    },
  )

  test('that never comes holds the others up for less than two minutes, once', async () => {
    const { opens, slowest } = await told(late(3, FOREVER))
    expect(opens).toEqual(upTo(12).filter((open) => open !== 3))
    expect(slowest).toBeLessThan(120_000)
  })

  test('of a coin of which many minutes are missing holds nothing up', async () => {
    const { opens, slowest } = await told((minute) => (minute % 3 === 0 ? 0 : FOREVER), { minutes: 40 })
    expect(opens.slice(0, 5)).toEqual([0, 3, 6, 9, 12])
    const often = await told((minute) => (minute % 3 === 0 ? 0 : FOREVER), { minutes: 40 })
    expect(often.requests).toBeLessThan(40 * 4)
    expect(slowest).toBeLessThan(180_000)
  })

  test('counts for longer bars, too', async () => {
    const { opens } = await told(late(7, 75_000), { timeframe: '3m', minutes: 15 })
    expect(opens).toEqual(upTo(5))
  })
})

test('an hour that a venue publishes a minute and a half late is told then, and not an hour later', async () => {
  await using bench = await startLiveBench({ exchanges: ['BYBIT'], historyBars: 30 })
  const { market } = bench.venue('BYBIT')
  const candles = market.candles.bind(market)
  Object.assign(market, {
    candles: (...[coin, timeframe, range]: Parameters<typeof candles>) =>
      candles(coin, timeframe, range).filter(
        ({ openTime }) => timeframe !== '1h' || bench.clock.now() >= openTime + HOUR_MS + 90_000,
      ),
  })
  let afterMs = FOREVER
  await bench.collect(
    { series: [{ exchange: 'BYBIT', coin: 'BTC', timeframe: '1h' }], liveFrom: NOON },
    ({ bars }) => {
      const isNew = bars.some(({ candle }) => candle.openTime === NOON)
      if (isNew) afterMs = bench.clock.now() - NOON - HOUR_MS
      return isNew
    },
  )
  expect(afterMs).toBeGreaterThanOrEqual(90_000)
  expect(afterMs).toBeLessThan(180_000)
})
