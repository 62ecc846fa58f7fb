import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rankNewest } from './rolling-rank.ts'

test('agrees with counting, in a window among others', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 60 }),
      (capacity, input) => {
        const at = 5
        const levels = new Uint16Array(at + 2 * capacity + 5).fill(7)
        for (const [seen, level] of input.entries()) {
          const window = input.slice(Math.max(0, seen + 1 - capacity), seen + 1)
          const below = window.filter((other) => other < level).length
          expect(rankNewest(levels, at, capacity, seen, level)).toBe(below / window.length)
        }
        const outside = [...levels.slice(0, at), ...levels.slice(at + 2 * capacity)]
        expect(outside.every((level) => level === 7)).toBe(true)
      },
    ),
  )
})

test('takes the highest and the lowest level', () => {
  const levels = new Uint16Array(4)
  expect(rankNewest(levels, 0, 2, 0, 65_535)).toBe(0)
  expect(rankNewest(levels, 0, 2, 1, 0)).toBe(0)
  expect(rankNewest(levels, 0, 2, 2, 65_535)).toBe(0.5)
})
