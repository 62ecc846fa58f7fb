import { beforeEach, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { LeaseTaken } from '../../contracts/events/lease-events.ts'
import { leaseStream } from '../../contracts/events/streams.ts'
import type { EventStore } from '../../services/log/event-store.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { readLog } from './audit.ts'

let store: EventStore
beforeEach(async () => {
  store = openMemoryStore({ now: () => 0 })
  const taken = Array.from({ length: 6 }, () =>
    newEvent(LeaseTaken, {
      id: crypto.randomUUID(),
      data: { group: 'engine', holder: 'engine1', table: [] },
      meta: { correlationId: 'x', causationId: 'x', actor: 'x' },
    }),
  )
  await store.append(leaseStream('engine'), taken, { expected: 'no-stream' })
})

/** Gives `most` events in a reading, and then breaks off. */
const breaking = (most: number, error: Error): Pick<EventStore, 'readAll'> => ({
  async *readAll(options) {
    let given = 0
    for await (const event of store.readAll(options)) {
      if (given++ === most) throw error
      yield event
    }
  },
})
const silent = new ServiceError('store_unavailable', { message: 'silent' })

test('a reading that breaks off goes on behind what it got, and reads everything once', async () => {
  const log = await readLog(breaking(2, silent), {}, async () => undefined)
  expect(log.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4, 5])
})

test('a store that gives nothing more is given up after a minute', async () => {
  let waitedMs = 0
  const pause = async (ms: number): Promise<void> => void (waitedMs += ms)
  await expect(readLog(breaking(0, silent), {}, pause)).rejects.toBe(silent)
  expect(waitedMs).toBe(60_000)
})

test('what is wrong with the log itself is told at once', async () => {
  const fault = new ServiceError('event_invalid', { message: 'of no type that is known' })
  await expect(readLog(breaking(1, fault), {}, () => Promise.reject(new Error('it waited')))).rejects.toBe(
    fault,
  )
})
