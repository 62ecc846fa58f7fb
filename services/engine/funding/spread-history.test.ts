import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../testing/random-walk.ts'
import { type SpreadHistory, spreadHistory } from './spread-history.ts'

const compared = (first: readonly number[], second: readonly number[]): SpreadHistory =>
  spreadHistory(Float64Array.from(first), Float64Array.from(second)) ?? expect.fail('too few days')

/** Days that keep a share of the deviation of the day before, around a mean. */
function autoregressive(seed: number, days: number, mean: number, share: number): number[] {
  const random = seededRandom(seed)
  let deviation = 0
  return Array.from({ length: days }, () => {
    deviation = share * deviation + 0.0002 * (random() - 0.5)
    return mean + deviation
  })
}

const none = (days: number): number[] => Array(days).fill(0)

test('takes the mean over the days that both have', () => {
  const { mean, days } = compared([1, Number.NaN, 3, 4], [0, 1, Number.NaN, 1])
  expect([mean, days]).toEqual([2, 2])
})

test.each([
  [[], []],
  [[1], [1]],
  [
    [1, Number.NaN],
    [Number.NaN, 1],
  ],
])('%j and %j cannot be compared', (first, second) => {
  expect(spreadHistory(Float64Array.from(first), Float64Array.from(second))).toBeUndefined()
})

describe('persistence', () => {
  test.each([0, 0.3, 0.6, 0.9])('of days that keep %d of a deviation is measured', (share) => {
    const { persistence } = compared(autoregressive(3, 4_000, 0.0001, share), none(4_000))
    expect(Math.abs(persistence - share)).toBeLessThan(0.05)
  })

  test('is not below zero where days alternate', () => {
    const days = Array.from({ length: 90 }, (_, day) => (day % 2 === 0 ? 0.001 : -0.001))
    expect(compared(days, none(90)).persistence).toBe(0)
  })

  test('is below one where a spread only grows', () => {
    const days = Array.from({ length: 90 }, (_, day) => day * 0.0001)
    expect(compared(days, none(90)).persistence).toBeLessThanOrEqual(0.98)
  })

  test('of a few days is drawn towards one half', () => {
    // Every other day repeats the one before: no correlation, if there are enough of them.
    const ofDays = (days: number) =>
      compared(
        Array.from({ length: days }, (_, day) => (day % 4 < 2 ? 0.001 : -0.001)),
        none(days),
      ).persistence
    expect(ofDays(8)).toBeGreaterThan(0.35)
    expect(ofDays(8)).toBeLessThan(0.5)
    expect(ofDays(88)).toBeLessThan(0.1)
  })

  test('is the prior where nothing varies, and the mean then certain', () => {
    expect(compared([0.3, 0.3, 0.3], [0.1, 0.1, 0.1])).toMatchObject({ persistence: 0.5, meanVariance: 0 })
    // Sums of rates differ in their last bits.
    const rounded = Array.from({ length: 30 }, (_, day) => (day % 2 === 0 ? 0.3 : 0.1 + 0.2))
    expect(compared(rounded, none(30))).toMatchObject({ persistence: 0.5, meanVariance: 0 })
  })

  test('is measured over days that follow one another only', () => {
    const days = autoregressive(5, 4_000, 0, 0.8)
    // With every other day missing there is no such step.
    const sparse = days.map((value, day) => (day % 2 === 0 ? value : Number.NaN))
    expect(compared(sparse, none(4_000)).persistence).toBe(0.5)
    const thirds = days.map((value, day) => (day % 3 === 0 ? Number.NaN : value))
    expect(Math.abs(compared(thirds, none(4_000)).persistence - 0.8)).toBeLessThan(0.06)
  })
})

test('the mean of persistent days is less certain, by how much repeated histories show', () => {
  const length = 90
  for (const share of [0, 0.6]) {
    const means = Array.from({ length: 400 }, (_, seed) => {
      const days = autoregressive(seed + 1, length + 50, 0, share).slice(50)
      return days.reduce((sum, day) => sum + day, 0) / length
    })
    const actual = means.reduce((sum, mean) => sum + mean * mean, 0) / means.length
    const estimates = Array.from({ length: 400 }, (_, seed) =>
      compared(autoregressive(seed + 1, length + 50, 0, share).slice(50), none(length)),
    )
    const expected = estimates.reduce((sum, { meanVariance }) => sum + meanVariance, 0) / estimates.length
    expect(expected / actual).toBeGreaterThan(0.75)
    expect(expected / actual).toBeLessThan(1.35)
  }
})

test('exchanging the histories turns the mean and nothing else', () => {
  const day = fc.oneof(fc.double({ min: -0.01, max: 0.01, noNaN: true }), fc.constant(Number.NaN))
  const histories = fc.array(fc.tuple(day, day), { minLength: 2, maxLength: 40 })
  fc.assert(
    fc.property(histories, (rows) => {
      const first = Float64Array.from(rows.map(([value]) => value))
      const second = Float64Array.from(rows.map(([, value]) => value))
      const [there, back] = [spreadHistory(first, second), spreadHistory(second, first)]
      expect(back).toEqual(there === undefined ? undefined : { ...there, mean: 0 - there.mean })
    }),
  )
})
