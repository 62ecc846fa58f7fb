import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { formOf } from './bodies.ts'

describe('a form', () => {
  test('has fields once or several times, and no prototype', () => {
    expect({ ...formOf('a=1&b=2&a=3&c&__proto__=4') }).toEqual({
      a: ['1', '3'],
      b: '2',
      c: '',
      ['__proto__']: '4',
    })
    expect('toString' in formOf('')).toBe(false)
  })

  // One after the other copied into a list anew held a process up for twelve seconds.
  test('of the largest size is read at once, whatever is repeated in it', { timeout: 5_000 }, () => {
    const times = LIMITS.requestBodyBytes / 2
    for (let round = 0; round < 20; round++) expect(formOf('a&'.repeat(times)).a).toHaveLength(times)
  })
})
