import { expect, test } from 'vitest'
import { BARRIER_CAP, BARRIER_FLOOR, barrierFraction } from './barrier.ts'
import { createRace } from './race.ts'

test('barriers grow with the square root of the window and have a floor', () => {
  expect(barrierFraction(0.01, 9)).toBeCloseTo(0.03, 12)
  expect(barrierFraction(0.0001, 9)).toBe(BARRIER_FLOOR)
  expect(barrierFraction(0.4, 9)).toBe(BARRIER_CAP)
})

test('a market that falls to nothing reaches the lower barrier, however wild it was', () => {
  const race = createRace({ barClose: 0, barMs: 1, windowBars: 1, barrier: barrierFraction(0.6, 15) })
  const crash = { openTime: 0, open: 100, high: 100, low: 0.001, close: 0.001, volume: 1 }
  expect(race.take(crash)).toMatchObject({ race: 'down' })
})
