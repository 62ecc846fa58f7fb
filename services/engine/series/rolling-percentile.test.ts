import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RollingPercentile } from './rolling-percentile.ts'

test('agrees with counting', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 60 }),
      (capacity, input) => {
        const ranks = new RollingPercentile(capacity)
        for (const [seen, value] of input.entries()) {
          const window = input.slice(Math.max(0, seen + 1 - capacity), seen + 1)
          const below = window.filter((other) => other < value).length
          expect(ranks.push(value)).toBe(below / window.length)
          expect(ranks.size).toBe(window.length)
        }
      },
    ),
  )
})

test('takes the highest and the lowest value', () => {
  const ranks = new RollingPercentile(2)
  expect([ranks.push(1e9), ranks.push(0), ranks.push(1e9)]).toEqual([0, 0, 0.5])
})
