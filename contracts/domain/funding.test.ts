import fc from 'fast-check'
import { expect, test } from 'vitest'
import { annualisedFunding } from './candle.ts'

test.each([
  [0.0001, 8, 0.1095],
  [0.0001, 4, 0.219],
  [0.0001, 1, 0.876],
  [-0.003, 8, -3.285],
  [0, 8, 0],
])('a rate of %d every %d h is %d a year', (rate, intervalHours, yearly) => {
  expect(annualisedFunding({ time: 0, rate, intervalHours })).toBeCloseTo(yearly, 12)
})

test('venues that charge the same, at other intervals, compare as equal', () => {
  const aRate = fc.double({ min: -0.04, max: 0.04, noNaN: true })
  fc.assert(
    fc.property(aRate, fc.constantFrom(2, 4, 8, 24), (hourly, intervalHours) => {
      const atOnce = annualisedFunding({ time: 0, rate: hourly * intervalHours, intervalHours })
      expect(atOnce).toBeCloseTo(annualisedFunding({ time: 0, rate: hourly, intervalHours: 1 }), 9)
    }),
  )
})
