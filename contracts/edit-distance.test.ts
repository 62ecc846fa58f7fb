import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editDistance } from './edit-distance.ts'

test.each([
  ['signiture', 'signature', 1],
  ['qouta', 'quota', 1],
  ['recieve', 'receive', 1],
  ['kubernets', 'kubernetes', 1],
  ['verfication', 'verification', 1],
  ['abc', 'xyz', 3],
  ['', 'ab', 2],
])('%s is as far from %s as its slips: %i', (a, b, distance) => {
  expect(editDistance(a, b, 5)).toBe(distance)
})

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })

test('it is the same from either side, nothing between equals, and never more than the longer word', () => {
  fc.assert(
    fc.property(word, word, (a, b) => {
      const distance = editDistance(a, b, 10)
      expect(editDistance(b, a, 10)).toBe(distance)
      expect(distance === 0).toBe(a === b)
      expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length))
    }),
  )
})

test('past the limit it says no more than that', () => {
  fc.assert(
    fc.property(word, word, fc.nat({ max: 3 }), (a, b, most) => {
      const distance = editDistance(a, b, 10)
      expect(editDistance(a, b, most)).toBe(Math.min(distance, most + 1))
    }),
  )
})
