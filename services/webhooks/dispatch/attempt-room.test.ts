import { expect, test } from 'vitest'
import { createAttemptRoom } from './attempt-room.ts'

function aRoom(busy: () => number) {
  let nowMs = 0
  const room = createAttemptRoom(() => nowMs, busy)
  /** Attempts that take so long end for a while, one in each millisecond. */
  return (attemptMs: number, forMs = 400): number => {
    for (const until = nowMs + forMs; nowMs < until; nowMs++) room.ended(attemptMs)
    return room.most
  }
}

test('a quarter of all attempts goes at a time while the process has no time left, and all once it has some', () => {
  let share = 1
  const after = aRoom(() => share)
  expect(after(5, 20)).toBe(128)
  expect(after(5)).toBe(32)
  share = 0.92
  expect(after(5)).toBe(32)
  share = 0.5
  expect(after(5)).toBe(128)
})

test('attempts whose answers are long on their way all go at a time, however busy the process is', () => {
  const after = aRoom(() => 1)
  expect(after(150)).toBe(128)
  expect(after(5)).toBe(32)
  expect(after(150)).toBe(128)
})
