import { describe, expect, test } from 'vitest'
import { blockMean, halfWidth95, wilsonInterval } from './intervals.ts'

describe('the interval of Wilson', () => {
  test.each([
    // Values of the published formula, as statistics packages print them.
    [50, 100, 0.4038, 0.5962],
    [0, 10, 0, 0.2775],
    [10, 10, 0.7225, 1],
    [1, 1_000, 0.0002, 0.0056],
  ])('of %d in %d', (successes, trials, low, high) => {
    const interval = wilsonInterval(successes, trials)
    expect(interval?.value).toBe(successes / trials)
    expect(interval?.low).toBeCloseTo(low, 4)
    expect(interval?.high).toBeCloseTo(high, 4)
  })

  test('is nothing without trials', () => {
    expect(wilsonInterval(0, 0)).toBeUndefined()
  })
})

test.each([
  // Quantiles of Student's t for one block fewer.
  [11, 2.228],
  [31, 2.042],
  [1_000_000, 1.96],
])('half an interval from %d blocks is %d errors', (blocks, expected) => {
  expect(halfWidth95(blocks)).toBeCloseTo(expected, 2)
})

describe('a mean over blocks', () => {
  const values = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? 3 : -1))

  test('knows copies of a value for one, where they share a block', () => {
    const copies = values.flatMap((value) => [value, value, value, value])
    const apart = blockMean(
      copies,
      copies.map((_, index) => index),
    )
    const together = blockMean(
      copies,
      copies.map((_, index) => index >> 2),
    )
    expect([apart?.value, together?.value]).toEqual([1, 1])
    expect((apart?.t ?? 0) / (together?.t ?? 1)).toBeCloseTo(2, 9)
  })

  test('has no interval from a few blocks, and no value from none', () => {
    expect(
      blockMean(
        values,
        values.map((_, index) => index % 4),
      ),
    ).toEqual({ value: 1, low: null, high: null, t: null })
    expect(blockMean([], [])).toBeUndefined()
  })
})
