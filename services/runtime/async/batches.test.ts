import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { batchesOf } from './batches.ts'

const later = (): Promise<void> => setImmediate()

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('batchesOf', () => {
  test('gathers what is ready, up to the most, and passes a lone item on', async () => {
    async function* source() {
      yield* [1, 2, 3, 4, 5]
      await later()
      await later()
      yield 6
    }
    expect(await collect(batchesOf(source(), 3))).toEqual([[1, 2, 3], [4, 5], [6]])
    expect(await collect(batchesOf((async function* () {})(), 3))).toEqual([])
  })

  test('counts items by their weight, and takes a heavier one whole', async () => {
    async function* source() {
      yield* [1, 1, 5, 2, 9, 1]
    }
    expect(await collect(batchesOf(source(), 4, (weight) => weight))).toEqual([[1, 1, 5], [2, 9], [1]])
  })

  test('gives what came before a failure, and then the failure, however late it is looked at', async () => {
    async function* source() {
      yield* [1, 2, 3]
      throw new Error('damaged')
    }
    const seen: number[][] = []
    const consuming = (async () => {
      for await (const batch of batchesOf(source(), 3)) {
        seen.push(batch)
        // The next item has failed by now; nobody has looked at it yet.
        for (let turn = 0; turn < 5; turn++) await later()
      }
    })()
    await expect(consuming).rejects.toThrow('damaged')
    expect(seen).toEqual([[1, 2, 3]])
  })

  test('a consumer that fails is not held up by a source that sleeps', async () => {
    const never = Promise.withResolvers<void>()
    async function* source() {
      yield 1
      await never.promise
    }
    const consuming = (async () => {
      for await (const batch of batchesOf(source(), 3)) throw new Error(`cannot take ${batch.length}`)
    })()
    await expect(consuming).rejects.toThrow('cannot take 1')
  })
})
