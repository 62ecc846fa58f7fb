import { afterEach, beforeEach, expect, test } from 'vitest'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

let double: WireDouble
let store: EventStore
beforeEach(async () => {
  double = await startWireDouble()
  store = openEventStoreDbStore({ connectionString: double.connectionString })
  for (let n = 0; n < 12; n++) {
    const events = Array.from({ length: 250 }, (_, index) => anEvent({ n, index }, `Type${index % 3}`))
    await store.append(`s-${n}`, events, { expected: 'no-stream' })
  }
  double.calls.read = 0
})
afterEach(async () => {
  await store.close()
  double.stop()
})

const readOf = (n: number, signal?: AbortSignal) =>
  store.readAll({ together: true, filter: { types: [`Type${n % 3}`] }, ...(signal && { signal }) })

test('nine that go through the log together, at different speeds, read it once', async () => {
  const slowly = async (n: number): Promise<number> => {
    let seen = 0
    for await (const { type } of readOf(n)) {
      if (type !== '' && ++seen % (50 * (n + 1)) === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    return seen
  }
  const seen = await Promise.all(Array.from({ length: 9 }, (_, n) => slowly(n)))
  expect(seen).toEqual(Array.from({ length: 9 }, (_, n) => (n % 3 === 0 ? 1_008 : 996)))
  expect(double.calls.read).toBe(1)
})

test('one that leaves, or comes late, holds up nobody', async () => {
  const leaving = new AbortController()
  const left = collect(readOf(0, leaving.signal))
  const early = (async () => {
    for await (const { id } of readOf(1)) return id
    return undefined
  })()
  const whole = collect(readOf(2))
  setTimeout(() => leaving.abort(), 60)
  await early
  const late = collect(readOf(2))
  expect(await whole).toHaveLength(996)
  expect(await late).toHaveLength(996)
  expect((await left).length).toBeLessThanOrEqual(1_008)
})

test('a reading that breaks is told to all of them, and the next one is whole', async () => {
  const readings = [0, 1, 2].map((n) => collect(readOf(n)))
  const seen = Promise.allSettled(readings)
  await new Promise((resolve) => setTimeout(resolve, 55))
  await double.restart()
  for (const outcome of await seen) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'store_unavailable' })
  }
  expect(await collect(readOf(1))).toHaveLength(996)
})

test('a long reading goes on where it was, over a connection that breaks again and again', async () => {
  const seen: string[] = []
  let restarting = Promise.resolve()
  for await (const { id } of store.readAll({ together: true })) {
    seen.push(id)
    // In the middle of what is taken: what was sent already still comes, and then the break.
    if (seen.length % 700 === 0) restarting = restarting.then(() => double.restart())
  }
  await restarting
  expect(seen).toEqual((await collect(store.readAll())).map(({ id }) => id))
  expect(seen).toHaveLength(3_000)
  expect(double.calls.read).toBeGreaterThan(2)
})
