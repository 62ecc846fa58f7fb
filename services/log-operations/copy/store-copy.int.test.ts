import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { type EventStoreDbStore, openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { checkStore } from '../../log/store-identity.ts'
import { appendKey, appendSome, beginLog, eventsOf, readWhole } from '../backup/testing/made-log.fixture.ts'
import { type CopyResult, type CopySource, type CopyTarget, copyLog } from './copy-log.ts'
import { openEmbeddedSource, openEmbeddedTarget } from './embedded-ends.ts'
import { openEventStoreDbSource, openEventStoreDbTarget } from './eventstoredb-ends.ts'
import { POSITION_MEMBERS } from './translate-positions.ts'

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
const copy = (source: CopySource, target: CopyTarget, more = {}): Promise<CopyResult> =>
  copyLog({ source, target, signal: new AbortController().signal, onProgress: () => undefined, ...more })
const target = (): CopyTarget => openEventStoreDbTarget(remote, { newId: randomUUID, now: () => now })

async function toRemote(change: (target: CopyTarget) => CopyTarget = (same) => same): Promise<CopyResult> {
  const source = openEmbeddedSource(join(directory, 'log'))
  try {
    return await copy(source, change(target()))
  } finally {
    source.close()
  }
}

async function toFolder(change: (target: CopyTarget) => CopyTarget = (same) => same): Promise<CopyResult> {
  const folder = openEmbeddedTarget(join(directory, 'back'))
  try {
    return await copy(
      openEventStoreDbSource(remote, async () => undefined),
      change(folder),
    )
  } finally {
    folder.close()
  }
}

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
    await store.append('delivery-made', [event], { expected: 'any' })
  }
  await appendSome(store, 10)
  await store.erase(erased)
  await store.close()
  return { kept, erased }
}

const withoutPlace = ({ position: _position, ...event }: RecordedEvent) => event
const told = ({ copied: _copied, ...result }: CopyResult) => result

describe('a copied log', () => {
  test('is the same there, and the same again back in a folder, with keys and without those that were erased', async () => {
    const { kept, erased } = await makeLog()
    const there = await toRemote()
    expect(there).toMatchObject({ events: 136, copied: 136, isFinished: true })
    const back = await toFolder()
    expect(back).toMatchObject({ events: 136, isFinished: true })
    const [log, restored] = [await open('log'), await open('back')]
    const [before, after] = [await readWhole(log), await readWhole(restored)]
    const [own, given] = [before, after].map((events) =>
      events.filter(({ stream }) => stream !== 'delivery-made').map(withoutPlace),
    )
    expect(given).toEqual(own)
    expect(await eventsOf(restored.read(erased))).toEqual([])
    expect((await eventsOf(restored.read(kept))).map(({ data }) => data)).toEqual(
      (await eventsOf(log.read(kept))).map(({ data }) => data),
    )
    // The positions that events name are of the same events, one earlier where the erased key stood before.
    const named = (events: readonly RecordedEvent[]) =>
      events.filter(({ stream }) => stream === 'delivery-made').map(({ data }) => data)
    expect(named(before).map(({ startAfter }) => startAfter)).toEqual(['start', '5', '5!', '122'])
    expect(named(after).map(({ startAfter }) => startAfter)).toEqual(['start', '5', '5!', '121'])
    expect(named(before)[0]).toMatchObject({ cursor: { after: '123' }, attempts: [{ position: '7' }] })
    expect(named(after)[0]).toMatchObject({ cursor: { after: '122' }, attempts: [{ position: '7' }] })
    await Promise.all([log.close(), restored.close()])
    // The service takes both for its own.
    expect(await checkStore(remote, identity)).toBe(before[0]?.id)
  })

  test.each([1, 2, 7])('that ended at its append %i is not for use, and goes on', async (failAt) => {
    await makeLog()
    const dying = (inner: CopyTarget): CopyTarget => {
      let appends = 0
      return {
        ...inner,
        async append(events) {
          if (++appends === failAt) throw new Error('killed')
          await inner.append(events)
          if (appends === failAt - 1) throw new Error('killed')
        },
      }
    }
    await expect(toRemote(dying)).rejects.toThrow('killed')
    if (failAt > 1)
      await expect(checkStore(remote, identity)).rejects.toMatchObject({ code: 'store_mismatch' })
    const whole = await toRemote()
    expect(whole).toMatchObject({ events: 136, isFinished: true })
    await expect(toFolder(dying)).rejects.toThrow('killed')
    expect(existsSync(join(directory, 'back', 'events.db'))).toBe(false)
    expect(told(await toFolder())).toMatchObject({ events: 136, isFinished: true })
  })

  // Where the server leaves out one and takes those after it, only a new store helps: the next run compares, and says so.
  test.each([
    ['lost-after-commit', 'goes on'],
    ['silent-end-after-commit', 'goes on'],
    ['lost-before-commit', 'is refused'],
  ] as const)(
    'whose appends under way end with the call of one (%s) sends no more, and %s',
    async (fault, end) => {
      await makeLog()
      let appends = 0
      const breaking = (inner: CopyTarget): CopyTarget => ({
        ...inner,
        async append(events) {
          if (++appends === 5) double.faults.failNextAppend(fault)
          await inner.append(events)
          // From now on the call is open.
          if (appends === 1) await inner.flush()
        },
      })
      await expect(toRemote(breaking)).rejects.toMatchObject({ code: 'append_unknown' })
      if (end === 'goes on') expect(await toRemote()).toMatchObject({ events: 136, isFinished: true })
      else
        await expect(toRemote()).rejects.toMatchObject({
          code: 'store_mismatch',
          nextStep: 'Copy into an empty store.',
        })
    },
  )

  test('is made in a folder by one process at a time', () => {
    const first = openEmbeddedTarget(join(directory, 'back'))
    expect(() => openEmbeddedTarget(join(directory, 'back'))).toThrow(
      expect.objectContaining({ code: 'store_locked' }),
    )
    first.close()
    openEmbeddedTarget(join(directory, 'back')).close()
  })

  test('copy × running writer: stays closed until nobody writes, then holds all', async () => {
    await makeLog()
    const running = await open('log')
    expect(await toRemote()).toMatchObject({ isFinished: false })
    await expect(checkStore(remote, identity)).rejects.toThrow('not finished')
    await appendSome(running, 20)
    expect(await toRemote()).toMatchObject({ events: 156, copied: 20, isFinished: false })
    await running.close()
    expect(await toRemote()).toMatchObject({ events: 156, copied: 0, isFinished: true })
    await checkStore(remote, identity)
  })

  test('is refused into what holds something else, or was finished', async () => {
    await makeLog()
    await toRemote()
    await expect(toRemote()).rejects.toMatchObject({ code: 'store_mismatch' })
    await toFolder()
    await expect(toFolder()).rejects.toThrow('is there already')
    rmSync(join(directory, 'back'), { recursive: true })
    // Begun from another log.
    const other = await open('other')
    await beginLog(other)
    await appendSome(other, 50)
    await other.close()
    const source = openEmbeddedSource(join(directory, 'other'))
    const folder = openEmbeddedTarget(join(directory, 'back'))
    await copy(source, { ...folder, finish: async () => undefined })
    source.close()
    folder.close()
    await expect(toFolder()).rejects.toThrow('is no copy of this log: at 1 stands LogBegun')
  })
})

test('every member of an event that holds a position is one that is translated', () => {
  const contracts = join(import.meta.dirname, '../../../contracts')
  const members = readdirSync(contracts)
    .filter((name) => name.endsWith('-events.ts'))
    .flatMap((name) => [...readFileSync(join(contracts, name), 'utf8').matchAll(/(\w+): positionSchema/g)])
    .map(([, member = '']) => member)
  expect(new Set(members)).toEqual(POSITION_MEMBERS)
})
