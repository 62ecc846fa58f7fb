import { expect, test } from 'vitest'
import { createRandomPool } from './random-pool.ts'

test('each byte of what was fetched is given once, and many ids share one fetch', () => {
  let fetched = 0
  const draw = createRandomPool((bytes) => {
    if (bytes > 0) fetched += 1
    return Uint8Array.from({ length: bytes }, (_, index) => (index % 250) + fetched)
  })
  const first = Array.from({ length: 819 }, () => [...draw(10)])
  expect(fetched).toBe(1)
  expect(first.flat()).toEqual(Array.from({ length: 8_190 }, (_, index) => (index % 250) + 1))
  // Two bytes are left, which are not enough.
  expect([...draw(10)]).toEqual(Array.from({ length: 10 }, (_, index) => index + 2))
})
