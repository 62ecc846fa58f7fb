import { expect, test } from 'vitest'
import type { Candle } from '../../contracts/candle.ts'
import { BARRIER_FLOOR, barrierFraction, raceOutcome } from './barrier.ts'

const bar = (open: number, high: number, low: number): Candle => ({
  openTime: 0,
  open,
  high,
  low,
  close: open,
  volume: 1,
})

const verdictBar = bar(1_000, 2_000, 1)

test.each([
  ['the upper barrier', [bar(100, 101, 99.5)], 'up'],
  ['the lower barrier', [bar(100, 100.5, 99)], 'down'],
  ['both in one bar', [bar(100, 101, 99)], 'both'],
  ['the upper barrier in the last bar', [bar(100, 100.5, 99.5), bar(100, 101, 99.5)], 'up'],
  ['neither in the window', [bar(100, 100.5, 99.5), bar(100, 100.5, 99.5), bar(100, 200, 50)], 'timeout'],
  ['nothing yet', [bar(100, 100.5, 99.5)], undefined],
  ['no entry yet', [], undefined],
])('a race of two bars that reaches %s', (_, bars, outcome) => {
  expect(raceOutcome([verdictBar, ...bars], 0, 0.01, 2)).toBe(outcome)
})

test('barriers grow with the square root of the window and have a floor', () => {
  expect(barrierFraction(0.01, 9)).toBeCloseTo(0.03, 12)
  expect(barrierFraction(0.0001, 9)).toBe(BARRIER_FLOOR)
})
