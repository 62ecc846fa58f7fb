import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/candle.ts'
import { CELL, cell } from '../cells.ts'
import { readCandles, readNumbers } from '../testing/read-candles.ts'
import { updateIndicators } from './update-indicators.ts'

const DATA = '../shared/data'
const missing = existsSync(DATA) ? '' : ` (skipped: no recorded data at ${DATA})`

const BAND_WIDTH = 2

/** Column of the reference, what its errors are relative to (the bar's close, or 100), and how to read ours. */
const COLUMNS: readonly (readonly [string, 'price' | 'percent', (cells: Float64Array) => number])[] = [
  ['rsi14', 'percent', (cells) => cell(cells, CELL.rsi14)],
  ['ema9', 'price', (cells) => cell(cells, CELL.ema9)],
  ['ema21', 'price', (cells) => cell(cells, CELL.ema21)],
  ['ema50', 'price', (cells) => cell(cells, CELL.ema50)],
  ['ema200', 'price', (cells) => cell(cells, CELL.ema200)],
  ['macd', 'price', (cells) => cell(cells, CELL.macd)],
  ['macdsig', 'price', (cells) => cell(cells, CELL.macdSignal)],
  ['macdhist', 'price', (cells) => cell(cells, CELL.macdHistogram)],
  ['adx14', 'percent', (cells) => cell(cells, CELL.adx14)],
  ['pdi14', 'percent', (cells) => cell(cells, CELL.plusDi14)],
  ['mdi14', 'percent', (cells) => cell(cells, CELL.minusDi14)],
  ['atr14', 'price', (cells) => cell(cells, CELL.atr14)],
  ['bbu', 'price', (cells) => band(cells, BAND_WIDTH)],
  ['bbm', 'price', (cells) => band(cells, 0)],
  ['bbl', 'price', (cells) => band(cells, -BAND_WIDTH)],
  ['sd20', 'price', (cells) => cell(cells, CELL.bollingerDeviation)],
]

const band = (cells: Float64Array, deviations: number): number =>
  cell(cells, CELL.bollingerMean) + deviations * cell(cells, CELL.bollingerDeviation)

/** Relative; the references have 12 digits. */
const TOLERANCE = 1e-9

/** Compares bar by bar: ours has to be blank where the reference is, and nowhere else. */
function expectAgreement(candles: readonly Candle[], reference: readonly (readonly number[])[]): void {
  const cells = new Float64Array(CELL.features)
  const worst = new Map<string, number>()
  for (const [index, row] of reference.entries()) {
    const candle = candles[index]
    if (candle === undefined) throw new Error(`There is no bar for row ${index} of the reference.`)
    expect(candle.openTime).toBe(row[0])
    updateIndicators(cells, 0, index + 1, candle)
    for (const [position, [column, scale, read]] of COLUMNS.entries()) {
      const expected = row[position + 1] ?? Number.NaN
      const actual = read(cells)
      if (Number.isNaN(expected) !== Number.isNaN(actual)) {
        throw new Error(`${column} of bar ${index} is ${actual}, the reference says ${expected}`)
      }
      if (Number.isNaN(expected)) continue
      const difference = Math.abs(actual - expected) / (scale === 'price' ? candle.close : 100)
      worst.set(column, Math.max(worst.get(column) ?? 0, difference))
    }
  }
  expect(worst.size).toBe(COLUMNS.length)
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
