import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import { readCandles, readNumbers } from '../testing/read-candles.ts'
import { Adx, emaWeight, Rsi, SeededAverage, wilderWeight } from './indicators.ts'

const DATA = '../shared/data'
const missing = existsSync(DATA) ? '' : ` (skipped: no recorded data at ${DATA})`
/** Relative; the references have 12 digits. */
const TOLERANCE = 1e-9

/** Every indicator of a series, with its column in the reference and what its errors are relative to. */
function createIndicators() {
  const rsi = new Rsi()
  const adx = new Adx()
  const atr = new SeededAverage(14, wilderWeight(14))
  const averages = [9, 21, 50, 200].map((period) => new SeededAverage(period, emaWeight(period)))
  let before: Candle | undefined
  return {
    push(bar: Candle): void {
      if (before !== undefined) {
        rsi.push(bar.close - before.close)
        const trueRange = Math.max(bar.high, before.close) - Math.min(bar.low, before.close)
        atr.push(trueRange)
        adx.push(bar.high - before.high, before.low - bar.low, trueRange)
      }
      for (const average of averages) average.push(bar.close)
      before = bar
    },
    read: () =>
      [
        [1, 'percent', rsi.value],
        ...averages.map(({ value }, index) => [2 + index, 'price', value] as const),
        [9, 'percent', adx.value],
        [10, 'percent', adx.plusDi],
        [11, 'percent', adx.minusDi],
        [12, 'price', atr.value],
      ] as const,
  }
}

/** Compares bar by bar: ours has to be blank where the reference is, and nowhere else. */
function expectAgreement(candles: readonly Candle[], reference: readonly (readonly number[])[]): void {
  const indicators = createIndicators()
  const worst = new Map<number, number>()
  for (const [index, row] of reference.entries()) {
    const candle = candles[index] ?? expect.fail(`There is no bar for row ${index} of the reference.`)
    expect(candle.openTime).toBe(row[0])
    indicators.push(candle)
    for (const [column, scale, actual] of indicators.read()) {
      const expected = row[column] ?? Number.NaN
      expect(Number.isNaN(actual), `column ${column} of bar ${index}`).toBe(Number.isNaN(expected))
      if (Number.isNaN(expected)) continue
      const difference = Math.abs(actual - expected) / (scale === 'price' ? candle.close : 100)
      worst.set(column, Math.max(worst.get(column) ?? 0, difference))
    }
  }
  expect(worst.size).toBe(9)
  expect([...worst].filter(([, difference]) => difference > TOLERANCE)).toEqual([])
}

test.each(['1m', '1h', '1d'])('indicators of %s bars are what their definitions give', (timeframe) => {
  const reference = readNumbers(`fixtures/indicators/SIM-BTC-${timeframe}.csv.gz`)
  expect(reference).toHaveLength(400)
  expectAgreement(readCandles(`fixtures/candles/SIM-BTC-${timeframe}.csv.gz`), reference)
})

describe.skipIf(missing !== '')(`indicators against TA-Lib C${missing}`, () => {
  test.each(['BTCUSDT-1h', '1000PEPEUSDT-1h', 'SOLUSDT-1m'])('%s agrees', (name) => {
    const reference = readNumbers(`${DATA}/reference/talib-${name}-first3000.csv.gz`)
    expect(reference).toHaveLength(3000)
    expectAgreement(readCandles(`${DATA}/binance-usdm/${name}.csv.gz`), reference)
  })
})
