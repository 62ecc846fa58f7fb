import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { NEWEST_REGIME_RULE } from '../../../services/engine/call-trigger.ts'
import { loadModel } from '../../../services/engine/model.ts'
import { readCandles } from '../../../services/engine/testing/read-candles.ts'
import { randomWalk } from '../../../testing/random-walk.ts'
import { measureRegime, type RegimeMeasures } from './measure-regime.ts'
import { regimeColumns } from './regime-columns.ts'
import { regimeTable } from './regime-table.ts'

const FOLDER = '../shared/data/binance-usdm'
const missing = existsSync(FOLDER) ? '' : ` (skipped: no recorded data at ${FOLDER})`
const model = { ...loadModel(), regime: NEWEST_REGIME_RULE }

/** Documented values of a measure on BTC and ETH 1h bars, and their tolerance. */
const DOCUMENTED: readonly (readonly [
  string,
  number,
  number,
  number,
  (measures: RegimeMeasures) => number,
])[] = [
  ['changes of direction a day', 0.62, 0.63, 0.01, (measures) => measures.changes.perDay],
  ['changes of the word a day', 0.66, 0.66, 0.01, (measures) => measures.wordChanges.perDay],
  ['share of changes undone', 0.044, 0.046, 0.003, (measures) => measures.changes.undoneShare],
  ['ADX changes a day', 1.21, 1.19, 0.01, (measures) => measures.adxChanges.perDay],
  ['share of ADX changes undone', 0.276, 0.274, 0.003, (measures) => measures.adxChanges.undoneShare],
  ['median lag in bars', 34, 37, 1, (measures) => measures.medianLagBars],
  ["share on the zigzag's side", 0.352, 0.349, 0.003, (measures) => measures.rightShare],
  ['share against it', 0.105, 0.106, 0.003, (measures) => measures.wrongShare],
  ['share of up labels followed by a rise', 0.498, 0.508, 0.003, (measures) => measures.upHitShare],
  ['share of down labels followed by a fall', 0.455, 0.459, 0.003, (measures) => measures.downHitShare],
  ['AUC of the word', 0.59, 0.586, 0.003, (measures) => measures.livelier.volatileWord.auc],
  ['AUC of liveliness', 0.733, 0.744, 0.003, (measures) => measures.livelier.liveliness.auc],
  ['volatility AUC, recent', 0.736, 0.76, 0.003, (measures) => measures.volatility.recent.auc],
  ['volatility AUC, overall', 0.654, 0.664, 0.003, (measures) => measures.volatility.overall.auc],
]

describe.skipIf(missing !== '')(`the regime on recorded 1h bars${missing}`, () => {
  const coins = missing === '' ? ['BTC', 'ETH', 'LTC', 'BCH'] : []
  const columns = coins.flatMap((coin) =>
    regimeColumns(model, `${coin}USDT-1h`, '1h', readCandles(`${FOLDER}/${coin}USDT-1h.csv.gz`)),
  )

  test.each(DOCUMENTED)('%s: %d on BTC and %d on ETH, within %d', (_, btc, eth, tolerance, read) => {
    const [ofBtc = Number.NaN, , ofEth = Number.NaN] = columns.map(({ measures }) => read(measures))
    expect(Math.abs(ofBtc - btc)).toBeLessThanOrEqual(tolerance)
    expect(Math.abs(ofEth - eth)).toBeLessThanOrEqual(tolerance)
  })

  test('is documented with the table that the study prints', () => {
    const page = new URL('../../../docs/indicators-and-regimes.md', import.meta.url)
    expect(readFileSync(page, 'utf8')).toContain(regimeTable(columns))
  })
})

test('a random walk is called the right way no more often than hindsight allows', () => {
  const measures = measureRegime(model, '1h', randomWalk(5, 5_000))
  expect(measures.turns).toBeGreaterThan(10)
  expect(measures.rightShare + measures.wrongShare).toBeLessThanOrEqual(1)
  expect(measures.medianLagBars).toBeGreaterThan(0)
  // Its volatility never changes, so nothing can be known of it beforehand.
  expect(Math.abs(measures.volatility.overall.auc - 0.5)).toBeLessThan(0.1)
})
