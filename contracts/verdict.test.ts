import { expect, test } from 'vitest'
import { oddsOf, probabilitiesShown } from './verdict.ts'

test.each([
  [0.54, 0.47, 'upper barrier first 54 %, closes higher 47 %: small losses often, large gains rarely'],
  [0.46, 0.53, 'lower barrier first 54 %, closes lower 47 %: small losses often, large gains rarely'],
  [0.54, 0.53, 'upper barrier first 54 %, closes higher 53 %'],
  // Where either is a coin's, nothing follows from the two.
  [0.54, 0.497, 'upper barrier first 54 %, closes higher 50 %'],
  [0.503, 0.47, 'upper barrier first 50 %, closes higher 47 %'],
])('a race of %d and a close of %d read: %s', (probability, closesHigher, words) => {
  expect(oddsOf(probability, closesHigher)).toBe(words)
})

test('a verdict without the second probability shows the first one alone', () => {
  expect(probabilitiesShown({ probability: 0.54 })).toEqual({ probability: 0.54 })
  expect(probabilitiesShown({ probability: 0.54, closesHigher: 0.47 })).toEqual({
    probability: 0.54,
    closes_higher: 0.47,
    odds: oddsOf(0.54, 0.47),
  })
})
