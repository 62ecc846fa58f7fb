import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededRandom } from '../../../testing/random-walk.ts'
import { areaUnderCurve, brierScore, calibration, type Forecasts } from './scores.ts'

interface Forecast {
  readonly probability: number
  readonly outcome: 0 | 1
  readonly block: number
}

const columns = (forecasts: readonly Forecast[]): Forecasts => ({
  probability: Float64Array.from(forecasts, ({ probability }) => probability),
  outcome: Uint8Array.from(forecasts, ({ outcome }) => outcome),
  block: Float64Array.from(forecasts, ({ block }) => block),
})

const forecast = fc.record({
  probability: fc.constantFrom(0.3, 0.4, 0.5, 0.6),
  outcome: fc.constantFrom(0 as const, 1 as const),
  block: fc.integer({ min: 0, max: 5 }),
})

test('the area is the share of pairs in the right order, ties half', () => {
  fc.assert(
    fc.property(fc.array(forecast, { maxLength: 30 }), (forecasts) => {
      const wins = forecasts.filter(({ outcome }) => outcome === 1)
      const losses = forecasts.filter(({ outcome }) => outcome === 0)
      fc.pre(wins.length > 0 && losses.length > 0)
      const pairs = wins.flatMap((win) =>
        losses.map((loss) => (Math.sign(win.probability - loss.probability) + 1) / 2),
      )
      const share = pairs.reduce((sum, pair) => sum + pair, 0) / pairs.length
      expect(areaUnderCurve(columns(forecasts)).auc).toBeCloseTo(share, 12)
    }),
  )
})

test('four copies of a race are known to be one, where they share a block', () => {
  const random = seededRandom(2)
  const races = Array.from(
    { length: 100 },
    () => ({ probability: random(), outcome: random() < 0.5 ? 1 : 0 }) as const,
  )
  const copies = (blockOf: (index: number) => number): Forecasts =>
    columns(
      Array.from({ length: 400 }, (_, index) => ({
        ...(races[index >> 2] ?? { probability: 0.5, outcome: 0 }),
        block: blockOf(index),
      })),
    )
  const independent = areaUnderCurve(copies((index) => index))
  const shared = areaUnderCurve(copies((index) => index >> 2))
  expect(shared.margin / independent.margin).toBeCloseTo(2, 1)
})

test('the Brier score of a coin is a quarter', () => {
  const coins = ([0, 1, 1] as const).map((outcome) => ({ probability: 0.5, outcome, block: 0 }))
  expect(brierScore(columns(coins)).value).toBe(0.25)
})

test('bins of equal size hold every forecast once, and equal forecasts share one', () => {
  fc.assert(
    fc.property(fc.array(forecast, { minLength: 1, maxLength: 60 }), (forecasts) => {
      const { bins, error } = calibration(columns(forecasts))
      expect(bins.reduce((sum, { races }) => sum + races, 0)).toBe(forecasts.length)
      expect(bins.length).toBeLessThanOrEqual(new Set(forecasts.map(({ probability }) => probability)).size)
      for (const { from, to, races } of bins)
        expect(forecasts.filter(({ probability }) => probability >= from && probability <= to)).toHaveLength(
          races,
        )
      expect(error).toBeLessThanOrEqual(1)
    }),
  )
})
