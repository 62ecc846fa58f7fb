import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionPoint } from './partition-point.ts'

test('the places before a point are counted as by looking at each', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.integer({ min: -1, max: 21 }), (values, point) => {
      const sorted = values.toSorted((a, b) => a - b)
      const count = partitionPoint(sorted.length, (place) => (sorted[place] as number) < point)
      expect(count).toBe(sorted.filter((value) => value < point).length)
    }),
  )
})
