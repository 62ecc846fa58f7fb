import { expect, test } from 'vitest'
import { BARRIER_FLOOR, barrierFraction } from './barrier.ts'

test('barriers grow with the square root of the window and have a floor', () => {
  expect(barrierFraction(0.01, 9)).toBeCloseTo(0.03, 12)
  expect(barrierFraction(0.0001, 9)).toBe(BARRIER_FLOOR)
})
