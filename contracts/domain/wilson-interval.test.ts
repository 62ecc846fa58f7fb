import { expect, test } from 'vitest'
import { wilsonInterval } from './statistics.ts'

test.each([
  // Newcombe (1998), table I, method 3: the score interval without continuity correction.
  [81, 263, 0.2553, 0.3662],
  [15, 148, 0.0624, 0.1605],
  [0, 20, 0, 0.1611],
  [1, 29, 0.0061, 0.1718],
  // As statistics packages print it.
  [50, 100, 0.4038, 0.5962],
  [10, 10, 0.7225, 1],
])('%i of %i lies between %f and %f', (successes, trials, low, high) => {
  const interval = wilsonInterval(successes, trials)
  expect(interval?.value).toBeCloseTo(successes / trials, 12)
  expect(interval?.low).toBeCloseTo(low, 4)
  expect(interval?.high).toBeCloseTo(high, 4)
})

test('nothing tried has no share', () => {
  expect(wilsonInterval(0, 0)).toBeUndefined()
})
