import { expect, test } from 'vitest'
import { giveMemoryBack } from './give-memory-back.ts'

/** @returns the looks at which memory was given back. @param residents, @param worked of each look, milliseconds */
async function looked(residents: readonly number[], worked: readonly number[] = []): Promise<number[]> {
  const ending = new AbortController()
  const collected: number[] = []
  let look = -1
  await giveMemoryBack({
    signal: ending.signal,
    async sleep() {
      if (++look === residents.length) ending.abort()
    },
    spentMs: () => worked.slice(0, look + 1).reduce((sum, ms) => sum + ms, 0),
    resident: () => residents[look] ?? 0,
    collect: () => collected.push(look),
  })
  return collected
}

test('memory is given back at the first quiet look, and again after it has grown', async () => {
  expect(await looked([200e6, 205e6, 212e6, 217e6, 225e6])).toEqual([0, 2, 4])
})

test('another collection follows one that gave much back', async () => {
  const ending = new AbortController()
  const after = [220e6, 180e6, 175e6]
  const collected: number[] = []
  let held = 250e6
  let looks = 0
  await giveMemoryBack({
    signal: ending.signal,
    async sleep() {
      if (++looks === 6) ending.abort()
    },
    spentMs: () => 0,
    resident: () => held,
    collect: () => collected.push((held = after[collected.length] ?? 0)),
  })
  expect(collected).toEqual(after)
})

test('a busy process is not held up', async () => {
  expect(await looked([200e6, 300e6, 300e6], [20_000, 2_000, 200])).toEqual([2])
})

test('a quiet process gives memory back beside others that keep the machine busy', async () => {
  const ending = new AbortController()
  let collections = 0
  await giveMemoryBack({
    signal: ending.signal,
    async sleep() {
      // As a thread that waits for a processor: its event loop does not rest.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
      if (collections > 0) ending.abort()
    },
    collect: () => (collections += 1),
    resident: () => 200e6,
  })
  expect(collections).toBe(1)
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
    spentMs: () => 0,
  })
  expect(process.memoryUsage.rss()).toBeLessThan(most - 40e6)
})
