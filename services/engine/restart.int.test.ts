import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/candle.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { CELL, cell } from './cells.ts'
import { loadModel } from './model.ts'
import { SeriesPool } from './series-pool.ts'
import { readCandles } from './testing/read-candles.ts'

const FOLDER = '../shared/data/binance-usdm'
const missing = existsSync(FOLDER) ? '' : ` (skipped: no recorded data at ${FOLDER})`
const model = loadModel()
const COMPARED = 100

/** How the state of a series that began long ago differs from one begun so many bars ago, at bars all along. */
function compare(bars: readonly Candle[], historyBars: number) {
  const pool = new SeriesPool(model)
  const long = pool.open('1h')
  const read = (slot: number, offset: number): number => cell(pool.cells, pool.baseOf(slot) + offset)
  const first = 2 * LIMITS.historyBars
  const every = Math.max(1, Math.floor((bars.length - first) / COMPARED))
  let compared = 0
  let regimes = 0
  let percentile = 0
  for (const [index, bar] of bars.entries()) {
    pool.push(long, bar)
    if (index < first || index % every !== 0) continue
    const begun = pool.open('1h')
    for (const past of bars.slice(index + 1 - historyBars, index + 1)) pool.push(begun, past)
    compared += 1
    if (read(begun, CELL.regimeIndex) !== read(long, CELL.regimeIndex)) regimes += 1
    const apart = Math.abs(read(begun, CELL.volatilityPercentile) - read(long, CELL.volatilityPercentile))
    percentile = Math.max(percentile, apart)
    pool.close(begun)
  }
  return { compared, regimes, percentile }
}

/** A level of the percentile's window may be one bar's share apart. */
const ONE_BAR = 1 / LIMITS.volatilityBars

describe.skipIf(missing !== '')(`a series that begins again with the bars of a start${missing}`, () => {
  test.each(['BTC', 'ETH'])('%s is as if it had never ended', (coin) => {
    const { compared, regimes, percentile } = compare(
      readCandles(`${FOLDER}/${coin}USDT-1h.csv.gz`),
      LIMITS.historyBars,
    )
    expect(compared).toBeGreaterThanOrEqual(COMPARED)
    expect(regimes).toBe(0)
    expect(percentile).toBeLessThanOrEqual(ONE_BAR + 1e-12)
  })
})
