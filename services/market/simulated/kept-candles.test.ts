import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import {
  HOUR_MS,
  MINUTE_MS,
  TIMEFRAMES,
  type Timeframe,
  timeframeMs,
} from '../../../contracts/domain/timeframes.ts'
import { BarAggregator } from '../aggregate-bars.ts'
import { createSimulatedBars } from './simulated-bars.ts'

const ROW = 6

/** Candles of `fixtures/candles`, as rows of numbers. */
function kept(timeframe: Timeframe): number[][] {
  const file = new URL(`../../../fixtures/candles/SIM-BTC-${timeframe}.csv.gz`, import.meta.url)
  const [, ...lines] = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')
  return lines.map((line) => line.split(',').map(Number))
}

/** The same stretch of the same market, drawn and aggregated as a feed does. */
function drawn(timeframe: Timeframe, firstOpen: number, end: number): number[][] {
  const bars = createSimulatedBars('fixtures', 'BTC')
  const base = timeframeMs(timeframe) < HOUR_MS ? '1m' : '1h'
  const baseMs = base === '1m' ? MINUTE_MS : HOUR_MS
  const aggregator = new BarAggregator()
  const source = aggregator.add({ series: { exchange: 'SIM', coin: 'BTC', timeframe }, base })
  const closed: number[][] = []
  for (let hour = Math.floor(firstOpen / HOUR_MS); hour < end / HOUR_MS; hour++) {
    const rows = base === '1m' ? bars.minutes(hour) : bars.hour(hour)
    for (let at = 0; at < rows.length; at += ROW) {
      const row = rows.slice(at, at + ROW)
      const openTime = row[0] ?? Number.NaN
      if (openTime < firstOpen) continue
      if (timeframe === base) {
        closed.push([...row])
        continue
      }
      aggregator.push(source, row, 0)
      for (const { candle } of aggregator.close(openTime + baseMs)) {
        closed.push([candle.openTime, candle.open, candle.high, candle.low, candle.close, candle.volume])
      }
    }
  }
  return closed
}

test.each(TIMEFRAMES)('%s: the simulated market draws the candles that it drew before', (timeframe) => {
  const candles = kept(timeframe)
  expect(candles).toHaveLength(400)
  const [first = []] = candles
  const [firstOpen = 0] = first
  const end = (candles.at(-1)?.[0] ?? 0) + timeframeMs(timeframe)
  expect(drawn(timeframe, firstOpen, end)).toEqual(candles)
})
