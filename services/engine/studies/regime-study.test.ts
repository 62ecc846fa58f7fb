import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { randomWalk } from '../random-walk.ts'
import { readCandles } from './read-candles.ts'
import { regimeStudy } from './regime-study.ts'

const FOLDER = '../shared/data/binance-usdm'
const missing = existsSync(FOLDER) ? '' : ` (skipped: no recorded data at ${FOLDER})`

/** Expected flips a day, undone share, lag in bars, right and wrong share. */
const EXPECTED = [
  ['BTC', 0.82, 0.05, 22, 0.56, 0.21],
  ['ETH', 0.85, 0.05, 22, 0.55, 0.21],
] as const

describe.skipIf(missing !== '')(`regime study on recorded bars${missing}`, () => {
  test.each(EXPECTED)('%s 1h flips %d times a day', (coin, flips, undone, lag, right, wrong) => {
    const study = regimeStudy(readCandles(`${FOLDER}/${coin}USDT-1h.csv.gz`), HOUR_MS)
    expect(Math.abs(study.flipsPerDay - flips)).toBeLessThan(0.015)
    expect(Math.abs(study.undoneShare - undone)).toBeLessThan(0.01)
    expect(Math.abs(study.medianLagBars - lag)).toBeLessThanOrEqual(1)
    expect(Math.abs(study.rightShare - right)).toBeLessThan(0.01)
    expect(Math.abs(study.wrongShare - wrong)).toBeLessThan(0.01)
  })
})

test('a random walk is called the right way no more often than hindsight allows', () => {
  const study = regimeStudy(randomWalk(5, 5_000), HOUR_MS)
  expect(study.turns).toBeGreaterThan(10)
  expect(study.rightShare + study.wrongShare).toBeLessThanOrEqual(1)
  expect(study.medianLagBars).toBeGreaterThan(0)
})
