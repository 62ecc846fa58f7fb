import { expect, test } from 'vitest'
import { nextDirection, nextVolatile } from './call-trigger.ts'

test.each([
  // From no trend, only the entry begins one.
  [0, 0.5, 0],
  [0, 0.51, 1],
  [0, -0.5, 0],
  [0, -0.51, -1],
  [0, 0, 0],
  // An uptrend lasts until −0.2 is passed.
  [1, 0.6, 1],
  [1, 0, 1],
  [1, -0.2, 1],
  [1, -0.21, 0],
  [1, -0.5, 0],
  [1, -0.51, -1],
  // A downtrend is the mirror image.
  [-1, -0.6, -1],
  [-1, 0, -1],
  [-1, 0.2, -1],
  [-1, 0.21, 0],
  [-1, 0.5, 0],
  [-1, 0.51, 1],
  // What cannot be measured is no trend.
  [1, Number.NaN, 0],
  [0, Number.NaN, 0],
])('direction %d with a trend measure of %d becomes %d', (current, measure, next) => {
  expect(nextDirection(current, measure)).toBe(next)
})

test.each([
  [false, 0.92, false],
  [false, 0.921, true],
  [false, 0.8, false],
  [true, 0.8, true],
  [true, 0.75, true],
  [true, 0.749, false],
])('volatile %s at percentile %d becomes %s', (current, percentile, next) => {
  expect(nextVolatile(current, percentile)).toBe(next)
})
