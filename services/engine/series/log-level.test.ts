import fc from 'fast-check'
import { expect, test } from 'vitest'
import { logLevel } from './rolling-percentile.ts'

const size = fc.double({ min: 2 ** -27, max: 31.9, noNaN: true })

test('never falls as the value rises', () => {
  fc.assert(
    fc.property(size, size, (a, b) => {
      expect(logLevel(Math.min(a, b))).toBeLessThanOrEqual(logLevel(Math.max(a, b)))
    }),
  )
})

test('tells values a tenth of a percent apart', () => {
  fc.assert(
    fc.property(fc.double({ min: 2 ** -26, max: 31, noNaN: true }), (value) => {
      expect(logLevel(value * 1.001)).toBeGreaterThan(logLevel(value))
    }),
  )
})

test.each([
  [0, 0],
  [2 ** -27, 0],
  [2 ** -40, 0],
  [31.999, 65_535],
  [1e9, 65_535],
  [1, 27 * 2048],
])('%d is level %d', (value, level) => {
  expect(logLevel(value)).toBe(level)
})
