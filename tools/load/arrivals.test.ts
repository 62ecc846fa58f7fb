import { expect, test } from 'vitest'
import { arrivalsOf } from './arrivals.ts'

test('arrivals rise, come at their rate, and are the same for a seed', () => {
  const times = arrivalsOf(500, 20, 7)
  expect(times).toEqual(arrivalsOf(500, 20, 7))
  expect(times).not.toEqual(arrivalsOf(500, 20, 8))
  expect(times.every((at, index) => at >= (times[index - 1] ?? 0) && at < 20_000)).toBe(true)
  // Ten thousand on average, with a standard deviation of a hundred.
  expect(Math.abs(times.length - 10_000)).toBeLessThan(600)
})
