import { expect, test } from 'vitest'
import { measure } from './measure.ts'

/** No line of it is raised: each falls with what is deleted. */
const MOST = {
  productLines: 62_333,
  testLines: 79_967,
  longFunctions: 18,
  longFunctionsWithoutReason: 0,
  commentsOpeningWithAClause: 0,
  privateWords: 0,
  longSentences: 0,
  longLines: 1,
}

test.each(Object.entries(MOST))('%s stays at or below its limit', (name, most) => {
  expect(measure()[name as keyof typeof MOST]).toBeLessThanOrEqual(most)
})

test('the product states an invariant that stops a process which breaks it for each 500 of its lines', () => {
  const { assertions, productLines } = measure()
  expect(assertions).toBeGreaterThanOrEqual(productLines / 500)
})

test('what is counted adds up, room by room', () => {
  const { product, productLines, testLines, docLines } = measure()
  expect([...product.keys()]).toContain('services/engine')
  expect([...product.values()].reduce((total, lines) => total + lines, 0)).toBe(productLines)
  expect(Math.min(testLines, docLines)).toBeGreaterThan(5_000)
})
