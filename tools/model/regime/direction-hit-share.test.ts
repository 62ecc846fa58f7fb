import { expect, test } from 'vitest'
import { directionHitShare } from './direction-hit-share.ts'

const closes = [5, 6, 7, 7, 6, 8]

test('counts the bars of one label that were followed by a move its way', () => {
  // One bar later: up, up, unmoved, down; the last bar has no next one.
  expect(directionHitShare(closes, [1, 1, 1, 1, 0, 1], 1, 1)).toBe(0.5)
  expect(directionHitShare(closes, [0, 0, -1, -1, -1, -1], -1, 1)).toBeCloseTo(1 / 3, 12)
})

test('looks as far ahead as it is told', () => {
  expect(directionHitShare(closes, [1, 1, 1, 1, 1, 1], 1, 4)).toBe(1)
  expect(directionHitShare(closes, [1, 1, 1, 1, 1, 1], 1, 3)).toBeCloseTo(2 / 3, 12)
})

test('is unknown without a bar to judge', () => {
  expect(directionHitShare(closes, [0, 0, 0, 0, 0, -1], -1, 1)).toBeNaN()
})
