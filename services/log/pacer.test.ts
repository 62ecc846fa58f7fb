import { expect, test } from 'vitest'
import { createPacer } from './pacer.ts'

/** A clock that only work and rests move. */
function aClock() {
  let at = 0
  const rests: number[] = []
  return {
    rests,
    now: () => at,
    work: (ms: number) => {
      at += ms
    },
    sleep: async (ms: number) => {
      rests.push(ms)
      at += ms
    },
  }
}

test('a stint is over once its slice is used, and begins again behind its rest', async () => {
  const clock = aClock()
  const stint = createPacer({ ...clock, sliceMs: 3, restRatio: 2 }).begin()
  clock.work(2)
  expect(stint.isOver()).toBe(false)
  clock.work(2)
  expect(stint.isOver()).toBe(true)
  await stint.next()
  expect(clock.rests).toEqual([8])
  expect(stint.isOver()).toBe(false)
})

test('many at once rest one behind the other, so that together they work no more than half of the time', async () => {
  const clock = aClock()
  const pacer = createPacer({ ...clock, sliceMs: 3, restRatio: 2 })
  let worked = 0
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      const stint = pacer.begin()
      for (let done = 0; done < 60; done++) {
        clock.work(1)
        worked += 1
        if (stint.isOver()) await stint.next()
      }
    }),
  )
  expect(worked).toBe(300)
  expect(clock.now()).toBeGreaterThanOrEqual(2 * worked)
})
