import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  breakEvenHours,
  type CarryForecast,
  expectedCarry,
  forecastCarry,
  opposite,
} from './expected-carry.ts'

const HOURS_PER_YEAR = 8_760

const forecasts = fc.record({
  mean: fc.double({ min: -0.002, max: 0.002, noNaN: true }),
  deviation: fc.double({ min: -0.01, max: 0.01, noNaN: true }),
  persistence: fc.double({ min: 0, max: 0.98, noNaN: true }),
})

describe('a forecast', () => {
  const history = { days: 60, mean: 0.0004, meanVariance: 0, persistence: 0.5 }

  test('believes a certain mean', () => {
    expect(forecastCarry(history, 0.001)).toEqual({
      mean: 0.0004,
      deviation: expect.closeTo(0.0006, 12),
      persistence: 0.5,
    })
  })

  test.each([
    [0.0002, 0.0003],
    [0.00039, 0.0000198],
    [0.0004, 0],
    [0.001, 0],
  ])('of a mean of 4 bps with an error of %d believes %d', (error, believed) => {
    const { mean, deviation } = forecastCarry({ ...history, meanVariance: error ** 2 }, 0.0001)
    expect(mean).toBeCloseTo(believed, 6)
    expect(mean + deviation).toBeCloseTo(0.0001, 12)
  })

  test('of no spread at all expects none', () => {
    const flat = forecastCarry({ ...history, mean: 0 }, 0)
    expect(expectedCarry(flat, 168)).toBe(0)
  })
})

describe('the expected carry', () => {
  test('of whole days adds up what is left of the deviation each day', () => {
    const forecast = { mean: 0.0001, deviation: 0.001, persistence: 0.6 }
    let [left, sum] = [0.001, 0]
    for (let day = 0; day < 7; day++) {
      left *= 0.6
      sum += 0.0001 + left
    }
    expect(expectedCarry(forecast, 168)).toBeCloseTo(sum, 12)
  })

  test('does not count a deviation that never lasts', () => {
    expect(expectedCarry({ mean: 0.0001, deviation: 0.5, persistence: 0 }, 48)).toBeCloseTo(0.0002, 12)
  })

  test('is opposite in the opposite position', () => {
    fc.assert(
      fc.property(forecasts, fc.integer({ min: 1, max: 2_160 }), (forecast, hours) => {
        expect(expectedCarry(opposite(forecast), hours)).toBeCloseTo(-expectedCarry(forecast, hours), 12)
      }),
    )
  })
})

describe('break-even', () => {
  test('of a steady spread is the cost over the spread', () => {
    const steady: CarryForecast = { mean: 0.0002, deviation: 0, persistence: 0.5 }
    expect(breakEvenHours(steady, 0.002)).toBeCloseTo(240, 6)
  })

  test('is at once without a cost, and never where the carry shrinks or takes more than a year', () => {
    expect(breakEvenHours({ mean: -0.001, deviation: 0, persistence: 0 }, 0)).toBe(0)
    expect(breakEvenHours({ mean: -0.001, deviation: 0, persistence: 0 }, 0.001)).toBeNull()
    expect(breakEvenHours({ mean: 0, deviation: 0, persistence: 0.9 }, 0.001)).toBeNull()
    const daily = 0.002 / 365
    expect(breakEvenHours({ mean: 0.99 * daily, deviation: 0, persistence: 0 }, 0.002)).toBeNull()
    expect(breakEvenHours({ mean: 1.01 * daily, deviation: 0, persistence: 0 }, 0.002)).toBeCloseTo(8_673, 0)
  })

  test('is found on the way up to a peak, and not where the peak is too low', () => {
    const peaking = { mean: -0.0001, deviation: 0.001, persistence: 0.9 }
    const peak = Math.max(
      ...Array.from({ length: HOURS_PER_YEAR }, (_, hour) => expectedCarry(peaking, hour)),
    )
    expect(breakEvenHours(peaking, peak * 0.99)).toBeLessThan(HOURS_PER_YEAR)
    expect(breakEvenHours(peaking, peak * 1.01)).toBeNull()
  })

  test('comes after a dip', () => {
    const dipping = { mean: 0.0003, deviation: -0.001, persistence: 0.8 }
    const hours = breakEvenHours(dipping, 0.001) ?? expect.fail('never')
    expect(expectedCarry(dipping, hours)).toBeCloseTo(0.001, 9)
  })

  test('is the first time at which the cost is paid, and later for a higher cost', () => {
    const cost = fc.double({ min: 1e-6, max: 0.02, noNaN: true })
    fc.assert(
      fc.property(forecasts, cost, cost, (forecast, one, other) => {
        const [less, more] = one < other ? [one, other] : [other, one]
        const [sooner, later] = [breakEvenHours(forecast, less), breakEvenHours(forecast, more)]
        const reached = Array.from({ length: HOURS_PER_YEAR + 1 }, (_, hour) => hour).find(
          (hour) => expectedCarry(forecast, hour) >= less,
        )
        if (sooner === null) {
          expect(reached).toBeUndefined()
          expect(later).toBeNull()
        } else {
          expect(expectedCarry(forecast, sooner)).toBeGreaterThanOrEqual(less * (1 - 1e-9))
          if (reached !== undefined) expect(sooner).toBeLessThanOrEqual(reached + 1e-6)
          if (later !== null) expect(later).toBeGreaterThanOrEqual(sooner)
        }
      }),
    )
  })
})
