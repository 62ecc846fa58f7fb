import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import { labelChanges } from './label-changes.ts'

test('a label that steps back was undone', () => {
  expect(labelChanges([0, 1, 0, 0], DAY_MS)).toEqual({ perDay: 0.5, undoneShare: 0.5 })
})

test('undoing counts up to the tenth bar after a change', () => {
  const held = (bars: number) => [0, ...Array.from({ length: bars }, () => 1), 0]
  expect(labelChanges(held(10), HOUR_MS).undoneShare).toBe(0.5)
  expect(labelChanges(held(11), HOUR_MS).undoneShare).toBe(0)
})

test('a label that never changes has none to undo', () => {
  const { perDay, undoneShare } = labelChanges([1, 1, 1], HOUR_MS)
  expect(perDay).toBe(0)
  expect(undoneShare).toBeNaN()
})
