import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/domain/candle.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { loadModel } from './model/verdict-model.ts'
import { logOddsOf } from './series/features.ts'
import { SeriesState } from './series/series-state.ts'
import { readCandles } from './testing/read-candles.ts'

const FOLDER = '../shared/data/binance-usdm'
const missing = existsSync(FOLDER) ? '' : ` (skipped: no recorded data at ${FOLDER})`
const model = loadModel()
const COMPARED = 100

/** How the state of a series that began long ago differs from one begun so many bars ago, at bars all along. */
function compare(bars: readonly Candle[], historyBars: number) {
  const long = new SeriesState(model, '1h')
  const first = 2 * LIMITS.historyBars
  const every = Math.max(1, Math.floor((bars.length - first) / COMPARED))
  const worst = { compared: 0, regimes: 0, percentile: 0, logOdds: 0 }
  for (const [index, bar] of bars.entries()) {
    long.push(bar)
    if (index < first || index % every !== 0) continue
    const begun = new SeriesState(model, '1h')
    for (const past of bars.slice(index + 1 - historyBars, index + 1)) begun.push(past)
    worst.compared += 1
    if (begun.regime !== long.regime) worst.regimes += 1
    const apart = Math.abs(begun.volatilityPercentile - long.volatilityPercentile)
    worst.percentile = Math.max(worst.percentile, apart)
    worst.logOdds = Math.max(worst.logOdds, Math.abs(logOddsOf(begun.factors) - logOddsOf(long.factors)))
  }
  return worst
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

  test.each(['BTC', 'ETH', 'SOL'])('%s begun 500 bars ago has the same log-odds', (coin) => {
    const bars = readCandles(`${FOLDER}/${coin}USDT-1h.csv.gz`)
    const { compared, logOdds } = compare(bars, LIMITS.warmUpBars)
    expect(compared).toBeGreaterThanOrEqual(COMPARED)
    expect(logOdds).toBeLessThan(1e-5)
  })
})
