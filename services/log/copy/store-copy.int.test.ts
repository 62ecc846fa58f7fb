import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { appendKey, appendSome, beginLog, eventsOf, readWhole } from '../backup/testing/made-log.fixture.ts'
import { openEmbeddedStore } from '../embedded/embedded-store.ts'
import type { EventStore } from '../event-store.ts'
import { type EventStoreDbStore, openEventStoreDbStore } from '../eventstoredb/eventstoredb-store.ts'
import { checkStore } from '../store-identity.ts'
import { copyToEventStoreDb, POSITION_MEMBERS } from './copy-to-eventstoredb.ts'

const identity = { market: 'simulated', seed: 'demo', secretFingerprint: 'f'.repeat(64) } as const
const meta = { correlationId: 'a test', actor: 'test' }
let directory: string
let double: WireDouble
let remote: EventStoreDbStore
let now = Date.parse('2026-11-22T12:00:00.000Z')

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'copy-'))
  double = await startWireDouble()
  remote = openEventStoreDbStore({ connectionString: double.connectionString })
})
afterEach(async () => {
  await remote.close()
  double.stop()
  rmSync(directory, { recursive: true, force: true })
})

const open = (name: string): Promise<EventStore> =>
  openEmbeddedStore({ directory: join(directory, name), now: () => (now += 7) })
/** @param change makes the store another one, as a fault would */
const toRemote = (
  change: (store: EventStoreDbStore) => EventStoreDbStore = (same) => same,
  name = 'log',
): ReturnType<typeof copyToEventStoreDb> =>
  copyToEventStoreDb({
    directory: join(directory, name),
    store: change(remote),
    newId: randomUUID,
    now: () => now,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  })

/** A log with keys, one of them erased, and events that name positions. */
async function makeLog(): Promise<{ kept: string; erased: string }> {
  const store = await open('log')
  await beginLog(store)
  await appendSome(store, 120)
  const erased = await appendKey(store)
  const kept = await appendKey(store)
  const after = await store.head()
  const data = { cursor: { after, sequence: 1 }, attempts: [{ position: '7', at: 1 }], first: 'start' }
  // A store may give back the members of meta in another order than they were written in.
  const caused = { ...meta, causationId: 'a cause' }
  for (const startAfter of ['start', '5', '5!', '122']) {
    const event = { id: randomUUID(), type: 'MadeUp', schema: 1, data: { ...data, startAfter }, meta: caused }
    await appendNext(store, 'delivery-made', [event])
  }
  await appendSome(store, 10)
  await store.erase(erased)
  await store.close()
  return { kept, erased }
}

const withoutPlace = ({ position: _position, ...event }: RecordedEvent) => event

describe('a copied log', () => {
  test('is the same there, with keys and without those that were erased, and names its own positions', async () => {
    const { kept, erased } = await makeLog()
    expect(await toRemote()).toMatchObject({ events: 136, copied: 136 })
    const log = await open('log')
    const [before, after] = [await readWhole(log), await readWhole(remote)]
    const [own, given] = [before, after].map((events) =>
      events.filter(({ stream }) => stream !== 'delivery-made').map(withoutPlace),
    )
    expect(given).toEqual(own)
    expect(await eventsOf(remote.read(erased))).toEqual([])
    expect((await eventsOf(remote.read(kept))).map(({ data }) => data)).toEqual(
      (await eventsOf(log.read(kept))).map(({ data }) => data),
    )
    // A position is that of the same event; behind an erased key, of the event before it.
    const named = (events: readonly RecordedEvent[]) =>
      events.filter(({ stream }) => stream === 'delivery-made').map(({ data }) => data)
    const place = (position: string): string => {
      const { id } = before.find((event) => event.position === position) ?? expect.fail(position)
      return after.find((event) => event.id === id)?.position ?? expect.fail(id)
    }
    const newestKey = (await eventsOf(remote.read(kept)))[0]?.position
    expect(named(before).map(({ startAfter }) => startAfter)).toEqual(['start', '5', '5!', '122'])
    expect(named(after).map(({ startAfter }) => startAfter)).toEqual([
      'start',
      place('5'),
      `${place('5')}!`,
      place('121'),
    ])
    expect(named(after)[0]).toMatchObject({
      cursor: { after: newestKey },
      attempts: [{ position: place('7') }],
    })
    await log.close()
    expect(await checkStore(remote, identity)).toBe(before[0]?.id)
  })

  test.each([1, 2, 7])('that ended at its append %i is not for use, and goes on', async (failAt) => {
    await makeLog()
    let appends = 0
    const dying = (store: EventStoreDbStore): EventStoreDbStore => ({
      ...store,
      appendCopied: async (...append) => {
        if (++appends >= failAt) throw new Error('killed')
        return store.appendCopied(...append)
      },
    })
    await expect(toRemote(dying)).rejects.toThrow('killed')
    if (failAt > 1)
      await expect(checkStore(remote, identity)).rejects.toMatchObject({ code: 'store_mismatch' })
    expect(await toRemote()).toMatchObject({ events: 136 })
    await checkStore(remote, identity)
  })

  test.each(['lost-after-commit', 'silent-end-after-commit', 'lost-before-commit'] as const)(
    'whose appends under way end with the call of one (%s) sends no more, and goes on',
    async (fault) => {
      await makeLog()
      let appends = 0
      const breaking = (store: EventStoreDbStore): EventStoreDbStore => ({
        ...store,
        appendCopied: async (...append) => {
          if (++appends === 5) double.faults.failNextAppend(fault)
          return store.appendCopied(...append)
        },
      })
      await expect(toRemote(breaking)).rejects.toMatchObject({ code: 'append_unknown' })
      expect(await toRemote()).toMatchObject({ events: 136 })
    },
  )

  test('that lacks an event in its midst is refused', async () => {
    await makeLog()
    let appends = 0
    const leavingOut = (store: EventStoreDbStore): EventStoreDbStore => ({
      ...store,
      appendCopied: (...append) =>
        (++appends === 5 ? Promise.resolve({ position: '0/0' }) : store.appendCopied(...append)) as never,
    })
    await expect(toRemote(leavingOut)).rejects.toThrow()
    await expect(toRemote()).rejects.toMatchObject({
      code: 'store_mismatch',
      nextStep: 'Copy into an empty database.',
    })
  })

  test('is refused beside a service, and into what holds something else or was finished', async () => {
    await makeLog()
    const running = await open('log')
    await expect(toRemote()).rejects.toMatchObject({ code: 'store_locked' })
    await running.close()
    // A copy of another log was begun.
    const other = await open('other')
    await beginLog(other)
    await appendSome(other, 50)
    await other.close()
    const unfinished = (store: EventStoreDbStore): EventStoreDbStore => ({
      ...store,
      erase: () => Promise.reject(new Error('killed')),
    })
    await expect(toRemote(unfinished, 'other')).rejects.toThrow('killed')
    await expect(toRemote()).rejects.toThrow(/it is no copy of .*stands LogBegun/)
    expect(await toRemote((same) => same, 'other')).toMatchObject({ events: 51, copied: 0 })
    await expect(toRemote()).rejects.toThrow('a copy was finished')
  })
})

test('every member of an event that holds a position is one that is translated', () => {
  const contracts = join(import.meta.dirname, '../../../contracts/events')
  const members = readdirSync(contracts)
    .filter((name) => name.endsWith('-events.ts'))
    .flatMap((name) => [...readFileSync(join(contracts, name), 'utf8').matchAll(/(\w+): positionSchema/g)])
    .map(([, member = '']) => member)
  expect(new Set(members)).toEqual(POSITION_MEMBERS)
})
