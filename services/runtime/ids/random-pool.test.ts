import { expect, test } from 'vitest'
import { createRandomPool } from './random-pool.ts'

test('hands out every byte of its supply at most once, and asks for more when it is used up', () => {
  let next = 0
  const asked: number[] = []
  const random = createRandomPool((bytes) => {
    asked.push(bytes)
    return Uint8Array.from({ length: bytes }, () => next++)
  }, 8)
  const given = [random(3), random(3), random(3), random(8), random(20)].flatMap((bytes) => [...bytes])
  expect(given).toHaveLength(37)
  expect(new Set(given).size).toBe(37)
  expect(asked).toEqual([8, 8, 8, 20])
})
