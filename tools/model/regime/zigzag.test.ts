import { expect, test } from 'vitest'
import { zigzag } from './zigzag.ts'

test('turns where price moved away by the threshold, at the extreme itself', () => {
  const path = [10, 11, 12, 14, 13, 12, 11, 10, 9, 10, 11, 13]
  expect(
    zigzag(
      path,
      path,
      path.map(() => 3),
    ),
  ).toEqual([
    { direction: 1, from: 0, to: 3 },
    { direction: -1, from: 3, to: 8 },
  ])
})

test('sees no turn while the threshold is unknown or not reached', () => {
  const path = [10, 12, 9, 12, 9]
  expect(
    zigzag(
      path,
      path,
      path.map(() => Number.NaN),
    ),
  ).toEqual([])
  expect(
    zigzag(
      path,
      path,
      path.map(() => 5),
    ),
  ).toEqual([])
})
