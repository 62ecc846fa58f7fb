import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

/** Every step takes a millisecond; each work notes its name at every step. */
function world(turnMs = 2) {
  let nowMs = 0
  const steps: string[] = []
  const rests: number[] = []
  const turns = createTurns({
    turnMs,
    restMs: (ranMs) => ranMs,
    time: {
      elapsed: () => nowMs,
      after(milliseconds, run) {
        rests.push(milliseconds)
        queueMicrotask(run)
        return () => undefined
      },
    },
  })
  async function work(name: string, owner: string, count: number): Promise<void> {
    const turn = turns.join(owner)
    await turn.begin()
    for (let n = 0; n < count; n++) {
      if (turn.isOver()) await turn.again()
      nowMs += 1
      steps.push(name)
    }
    turn.release()
  }
  return { turns, work, steps, rests }
}

test('works run one at a time, each for a turn', async () => {
  const { work, steps, rests } = world()
  await Promise.all([work('a', 'one', 4), work('b', 'two', 4)])
  expect(steps.join('')).toBe('aabbaabb')
  expect(rests).toEqual([2, 2, 2, 2])
})

test('an owner with many works gets as much as one with one', async () => {
  const { work, steps } = world(1)
  const many = Array.from({ length: 9 }, (_, n) => work(String(n), 'many', 10))
  await Promise.all([...many, work('x', 'few', 10)])
  const whenFewEnds = steps.lastIndexOf('x')
  expect(whenFewEnds).toBeLessThanOrEqual(20)
})

test('a newcomer waits for one turn of each owner', async () => {
  const { work, steps } = world(1)
  const old = Promise.all([work('a', 'one', 5), work('a', 'one', 5), work('b', 'two', 5)])
  await Promise.resolve()
  await Promise.all([old, work('c', 'three', 1)])
  expect(steps.indexOf('c')).toBeLessThanOrEqual(3)
})

test('a work between two of its turns keeps nobody waiting, and may end there', async () => {
  const { turns, work, steps } = world()
  const idle = turns.join('idle')
  await idle.begin()
  idle.release()
  idle.release()
  await work('a', 'one', 2)
  expect(steps).toEqual(['a', 'a'])
  await work('b', 'idle', 1)
  expect(steps.at(-1)).toBe('b')
})

test('alone it goes on after every rest', async () => {
  const { work, steps } = world(1)
  await work('a', 'one', 1_000)
  expect(steps).toHaveLength(1_000)
})
