import { expect, test } from 'vitest'
import { giveMemoryBack } from './give-memory-back.ts'

/** @returns the looks at which memory was given back. @param residents, @param busy of each look */
async function looked(residents: readonly number[], busy: readonly number[] = []): Promise<number[]> {
  const ending = new AbortController()
  const collected: number[] = []
  let look = -1
  await giveMemoryBack({
    signal: ending.signal,
    async sleep() {
      if (++look === residents.length) ending.abort()
    },
    busy: () => busy[look] ?? 0,
    resident: () => residents[look] ?? 0,
    collect: () => collected.push(look),
  })
  return collected
}

test('memory is given back at the first quiet look, and again after it has grown', async () => {
  expect(await looked([200e6, 205e6, 212e6, 217e6, 225e6])).toEqual([0, 3])
})

test('a busy process is not held up', async () => {
  expect(await looked([200e6, 300e6, 300e6], [1, 0.1, 0.01])).toEqual([2])
})

test('pages that a collection freed are given back to the system', async () => {
  const ending = new AbortController()
  let left: object[] | undefined = Array.from({ length: 1_000_000 }, (_, n) => ({ n, text: `text ${n}` }))
  const most = process.memoryUsage.rss()
  expect(left).toHaveLength(1_000_000)
  left = undefined
  let looks = 0
  await giveMemoryBack({
    signal: ending.signal,
    async sleep() {
      if (looks++ === 1) ending.abort()
    },
    busy: () => 0,
  })
  expect(process.memoryUsage.rss()).toBeLessThan(most - 40e6)
})
