import { describe, expect, test } from 'vitest'
import { halfWidth95 } from '../../../contracts/student-interval.ts'
import { blockMean } from './intervals.ts'

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

  test('has no t where the values differ by rounding alone', () => {
    const same = Array.from({ length: 50 }, (_, index) => -12.1 + (index % 3) * 1e-15)
    const { value, t } =
      blockMean(
        same,
        same.map((_, index) => index),
      ) ?? expect.fail('no mean')
    expect([value.toFixed(6), t]).toEqual(['-12.100000', null])
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
