import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededRandom } from '../random-walk.ts'
import { areaUnderCurve, brierScore, type Forecast } from './scores.ts'

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
      expect(areaUnderCurve(forecasts).auc).toBeCloseTo(share, 12)
    }),
  )
})

test('four copies of a race are known to be one, where they share a block', () => {
  const random = seededRandom(2)
  const races = Array.from(
    { length: 100 },
    () => ({ probability: random(), outcome: random() < 0.5 ? 1 : 0 }) as const,
  )
  const copies = (blockOf: (index: number) => number): Forecast[] =>
    Array.from({ length: 400 }, (_, index) => ({
      ...(races[index >> 2] ?? { probability: 0.5, outcome: 0 }),
      block: blockOf(index),
    }))
  const independent = areaUnderCurve(copies((index) => index))
  const shared = areaUnderCurve(copies((index) => index >> 2))
  expect(shared.margin / independent.margin).toBeCloseTo(2, 1)
})

test('the Brier score of a coin is a quarter', () => {
  expect(
    brierScore([0, 1, 1].map((win) => ({ probability: 0.5, outcome: win === 1 ? 1 : 0, block: 0 }))).value,
  ).toBe(0.25)
})
