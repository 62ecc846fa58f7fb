import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { CELL, cell } from './cells.ts'
import { loadModel } from './model.ts'
import { SeriesPool } from './series-pool.ts'
import { readCandles } from './testing/read-candles.ts'

const FOLDER = '../shared/data/binance-usdm'
const missing = existsSync(FOLDER) ? '' : ` (skipped: no recorded data at ${FOLDER})`
const model = loadModel()

/** Largest difference in probability between a long history and one begun 500 bars ago. */
const TOLERANCE = 0.001
const COMPARED = 60

describe.skipIf(missing !== '')(`a cold start${missing}`, () => {
  test.each(['BTC', 'ETH', 'SOL'])('%s: agrees with a long history after 500 bars', (coin) => {
    const bars = readCandles(`${FOLDER}/${coin}USDT-1h.csv.gz`)
    const pool = new SeriesPool(model)
    const long = pool.open('1h')
    const every = Math.floor((bars.length - 2 * LIMITS.warmUpBars) / COMPARED)
    const differences: number[] = []
    for (const [index, bar] of bars.entries()) {
      pool.push(long, bar)
      if (index < 2 * LIMITS.warmUpBars || index % every !== 0) continue
      const cold = pool.open('1h')
      for (const past of bars.slice(index + 1 - LIMITS.warmUpBars, index + 1)) pool.push(cold, past)
      const probability = (slot: number): number => cell(pool.cells, pool.baseOf(slot) + CELL.probability)
      differences.push(Math.abs(probability(cold) - probability(long)))
      pool.close(cold)
    }
    expect(differences.length).toBeGreaterThanOrEqual(COMPARED - 1)
    expect(Math.max(...differences)).toBeLessThan(TOLERANCE)
  })
})
