import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mapConcurrently } from './map-concurrently.ts'

test('works on all, never on more than so many at a time, and keeps their order', async () => {
  let underWay = 0
  let most = 0
  const results = await mapConcurrently([5, 1, 4, 2, 3], 2, async (turns) => {
    most = Math.max(most, ++underWay)
    for (let turn = 0; turn < turns; turn++) await setImmediate()
    underWay -= 1
    return turns * 10
  })
  expect(results).toEqual([50, 10, 40, 20, 30])
  expect(most).toBe(2)
})

test('fails with what one fails with, and begins no further one', async () => {
  const begun: number[] = []
  const working = mapConcurrently([1, 2, 3, 4], 1, async (item) => {
    begun.push(item)
    if (item === 2) throw new Error('two')
  })
  await expect(working).rejects.toThrow('two')
  expect(begun).toEqual([1, 2])
})

test('of nothing is nothing', async () => {
  expect(await mapConcurrently([], 3, () => Promise.reject(new Error('never')))).toEqual([])
})
