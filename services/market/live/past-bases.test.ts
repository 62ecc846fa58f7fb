import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { BarAggregator } from '../aggregate-bars.ts'
import { isDataAbsent, readCandles, toRow, whenPresent } from '../testing/recorded-data.ts'

/** Bars as they are made live. */
function made(base: Timeframe, timeframe: Timeframe, bars: readonly Candle[]): Candle[] {
  const aggregator = new BarAggregator()
  const source = aggregator.add({ series: { exchange: 'BINANCE', coin: 'SOL', timeframe }, base })
  const closed: Candle[] = []
  for (const bar of bars) {
    aggregator.push(source, toRow(bar), 0)
    closed.push(...aggregator.close(bar.openTime + timeframeMs(base)).map(({ candle }) => candle))
  }
  return closed
}

describe(`the past is made of bars that equal those made live${whenPresent}`, () => {
  test.skipIf(isDataAbsent).each([
    ['1m', '5m', 'SOLUSDT'],
    ['1h', '4h', 'SOLUSDT'],
  ] as const)('%s bars make the venue its own %s bars, of %s', async (base, timeframe, symbol) => {
    const closed = made(base, timeframe, await readCandles(`binance-usdm/${symbol}-${base}`))
    const own = new Map(
      (await readCandles(`binance-usdm/${symbol}-${timeframe}`)).map((bar) => [bar.openTime, bar]),
    )
    const both = closed.filter(({ openTime }) => own.has(openTime))
    expect(both.length).toBeGreaterThan(1_000)
    expect(both.filter((bar) => JSON.stringify(bar) !== JSON.stringify(own.get(bar.openTime)))).toEqual([])
  })
})
