import { expect, test } from 'vitest'
import type { RecordedEvent } from '../../contracts/event.ts'
import { START } from '../../contracts/position.ts'
import { pacedReads } from './pacer.ts'

/** Reads of so many events, each of which takes so long, on a clock that only work and rests move. */
function readings(workMs: readonly number[]) {
  let at = 0
  let worked = 0
  const rests: number[] = []
  async function* events(): AsyncGenerator<RecordedEvent, void, void> {
    for (const ms of workMs) {
      at += ms
      worked += ms
      yield {} as RecordedEvent
    }
  }
  const store = { read: events, readAll: events, head: async () => START }
  const sleep = async (ms: number): Promise<void> => {
    rests.push(ms)
    at += ms
  }
  const reads = pacedReads(store, { sliceMs: 3, restRatio: 2, now: () => at, sleep })
  return { reads, rests, worked: () => worked, now: () => at }
}

test('a reading rests once its slice is used, and begins again after its rest', async () => {
  const { reads, rests } = readings([2, 2, 2])
  await Array.fromAsync(reads.readAll())
  expect(rests).toEqual([8])
})

test('many at once rest one after the other, so that together they work no more than half of the time', async () => {
  const { reads, worked, now } = readings(Array.from({ length: 60 }, () => 1))
  await Promise.all(Array.from({ length: 5 }, () => Array.fromAsync(reads.read('s-1'))))
  expect(worked()).toBe(300)
  expect(now()).toBeGreaterThanOrEqual(2 * (worked() - 5 * 3))
})
