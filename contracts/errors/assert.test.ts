import { expect, test } from 'vitest'
import { assert, brokenInvariants } from './assert.ts'
import { isServiceError } from './errors.ts'

const INVARIANT = 'a balance is not negative'

test('an invariant that holds costs nothing and counts nothing', () => {
  assert(true, 'an invariant that holds')
  expect(brokenInvariants().has('an invariant that holds')).toBe(false)
})

test('a broken invariant throws a coded error with the value found, and is counted', () => {
  for (const times of [1, 2]) {
    let thrown: unknown
    try {
      const balance = Number('-3')
      assert(balance >= 0, INVARIANT, balance)
    } catch (error) {
      thrown = error
    }
    expect(isServiceError(thrown, 'internal_error')).toBe(true)
    expect(thrown).toMatchObject({ message: `This does not hold: ${INVARIANT} (found -3).` })
    expect(brokenInvariants().get(INVARIANT)).toBe(times)
  }
})
