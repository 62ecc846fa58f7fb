import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { START } from '../../contracts/position.ts'
import { appendNext } from '../../testing/append-next.ts'
import { createMemoryLog, openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { type AppendPath, RETRY_FOR_CALLER } from './append-with-retry.ts'
import { anEvent } from './event-store.contract.ts'
import type { EventStore } from './event-store.ts'
import { guardLog, type LogGuard } from './guard-log.ts'
import { claimStore } from './store-identity.ts'

const identity = { market: 'simulated', seed: '1', secretFingerprint: 'a'.repeat(64) } as const
const now = () => Date.UTC(2026, 10, 22)
let ids = 0
const newId = (): string => `019abcde-7c00-7001-8000-${String(++ids).padStart(12, '0')}`

const pathTo = (store: EventStore): AppendPath => ({
  store,
  policy: RETRY_FOR_CALLER,
  now,
  sleep,
  signal: new AbortController().signal,
})

/** An address behind which another log can be put while it is followed. */
function anAddress(): EventStore & { put(store: EventStore): void } {
  let current = openMemoryStore({ now })
  return {
    append: (...args) => current.append(...args),
    read: (...args) => current.read(...args),
    readAll: (...args) => current.readAll(...args),
    subscribe: (...args) => current.subscribe(...args),
    erase: (...args) => current.erase(...args),
    head: () => current.head(),
    health: () => current.health(),
    close: () => current.close(),
    put(store) {
      current = store
    },
  }
}

let address: ReturnType<typeof anAddress>
let guard: LogGuard
let ending: AbortController
let logId: string

async function begin(everyMs = 60_000): Promise<void> {
  ending = new AbortController()
  address = anAddress()
  logId = await claimStore(pathTo(address), identity, newId)
  guard = guardLog(address, { logId, everyMs, sleep, signal: ending.signal })
}
/** Follows the log until the event with this id. */
async function followTo(id: string): Promise<void> {
  for await (const item of guard.store.subscribe({ after: START, signal: ending.signal })) {
    if (item.kind === 'event' && item.event.id === id) return
  }
}

/** A log with the first events of this one, and others behind them. */
async function restored(from: EventStore, count: number, others: number): Promise<EventStore> {
  const copy = openMemoryStore({ now, log: createMemoryLog() })
  let left = count
  for await (const { stream, id, type, schema, data, meta } of from.readAll({ limit: count })) {
    if (left-- > 0) await appendNext(copy, stream, [{ id, type, schema, data, meta }])
  }
  for (let n = 0; n < others; n++) await appendNext(copy, 's-1', [anEvent()])
  return copy
}

beforeEach(() => begin())
afterEach(() => ending.abort())

describe('another log behind the same address', () => {
  const cases: [string, () => Promise<EventStore>][] = [
    ['an empty one', async () => openMemoryStore({ now })],
    [
      'one of another deployment',
      async () => {
        const store = openMemoryStore({ now })
        await claimStore(pathTo(store), identity, newId)
        return store
      },
    ],
    ['an older copy', () => restored(address, 2, 0)],
    ['an older copy that has grown past where this one was', () => restored(address, 2, 20)],
  ]
  test.each(cases)('%s takes nothing, and ends the process', async (_name, make) => {
    for (let n = 0; n < 4; n++) await appendNext(guard.store, 's-1', [anEvent()])
    const last = anEvent()
    await appendNext(guard.store, 's-1', [last])
    await followTo(last.id)
    const other = await make()
    const before = await other.head()
    address.put(other)
    guard.suspect()
    const work = guard.store.append('s-2', [anEvent()], { expected: 'no-stream' })
    await expect(work).rejects.toMatchObject({ code: 'store_mismatch' })
    await expect(guard.failure).rejects.toMatchObject({ code: 'store_mismatch' })
    expect(await other.head()).toBe(before)
    expect((await guard.store.health()).ok).toBe(false)
    expect(() => guard.store.read('s-1')).toThrow('another log answers')
  })

  test('is noticed by itself, where nothing fails', async () => {
    ending.abort()
    await begin(5)
    address.put(openMemoryStore({ now }))
    await expect(guard.failure).rejects.toMatchObject({ code: 'store_mismatch' })
  })
})

test('the same log is trusted again once it can be asked, and appended to no earlier', async () => {
  const event = anEvent()
  const append = () => guard.store.append('s-1', [event], { expected: 'no-stream' })
  const reading = vi.spyOn(address, 'read').mockImplementation(() => {
    throw Object.assign(new Error('away'), { code: 'store_unavailable' })
  })
  guard.suspect()
  await expect(append()).rejects.toThrow('away')
  reading.mockRestore()
  expect(await append()).toMatchObject({ revision: 0, replayed: false })
})
