import { expect, test } from 'vitest'
import { FIRST_REGIME_RULE, NEWEST_REGIME_RULE } from '../../../services/engine/call-trigger.ts'
import { loadModel } from '../../../services/engine/model.ts'
import { DEFAULT_SIMULATED_COINS } from '../../../services/market/simulated/simulated-coins.ts'
import { wordsAgainstTruth } from './simulated-truth.ts'

const model = loadModel()
const market = { seed: 'signal', coins: DEFAULT_SIMULATED_COINS, timeframe: '1h', hours: 12_000 } as const

/** Documented in docs/indicators-and-regimes.md. */
test.each([
  ['first', FIRST_REGIME_RULE, 0.441, 0.419, 0.92],
  ['newest', NEWEST_REGIME_RULE, 0.543, 0.539, 0.73],
])('the %s rule names the regime that a market was drawn from', (_, regime, right, balanced, perDay) => {
  const measured = wordsAgainstTruth({ ...model, regime }, market)
  expect(Math.abs(measured.right - right)).toBeLessThan(0.002)
  expect(Math.abs(measured.balanced - balanced)).toBeLessThan(0.002)
  expect(Math.abs(measured.changes.word - perDay)).toBeLessThan(0.01)
  expect(measured.alwaysRanging).toBeCloseTo(0.457, 2)
  expect(measured.changes.truth).toBeCloseTo(0.52, 1)
})
