import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rollingMedian } from './rolling-median.ts'

test('is the middle of the last values, sorted', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 9 })),
      fc.integer({ min: 1, max: 7 }),
      (values, window) => {
        const expected = values.map((_, index) => {
          const last = values.slice(Math.max(0, index + 1 - window), index + 1).toSorted((a, b) => a - b)
          return last[last.length >> 1]
        })
        expect(rollingMedian(values, window)).toEqual(expected)
      },
    ),
  )
})
