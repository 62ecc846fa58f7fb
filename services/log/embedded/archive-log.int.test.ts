import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { collect } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { shrinkLog } from './archive-log.ts'
import { appendSeries, archive, keyOf, madeUp } from './archived-log.fixture.ts'
import { logFile, openEmbeddedStore } from './embedded-store.ts'
import { LogReader } from './log-reader.ts'
import { openStoredRows } from './stored-rows.ts'

const COUNT = 600
let directory: string
let file: string
let store: EventStore
/** All rows as the file held them before anything was archived. */
let rows: readonly unknown[]

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'archive-'))
  file = logFile(directory)
  store = await openEmbeddedStore({ directory, now: Date.now })
  await appendSeries(store, { count: COUNT, keysEvery: 200 })
  rows = rowsNow()
})
afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

function rowsNow(): readonly unknown[] {
  const opened = openStoredRows(file)
  try {
    return opened.everything(0, Infinity, Number.MAX_SAFE_INTEGER)
  } finally {
    opened.close()
  }
}

/** The events in the file itself, without the archive. */
function raw(): { stream: string; data: string }[] {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    return db.prepare('SELECT stream, data FROM event ORDER BY position').all() as never
  } finally {
    db.close()
  }
}

const folder = (): string => join(directory, 'archive')
const archiveNames = (): string[] => readdirSync(folder()).toSorted()
const firstFile = (): string => join(folder(), archiveNames()[0] ?? '')

describe('an archived log', () => {
  test('gives every event as before, to everybody who reads', async () => {
    const before = {
      all: await collect(store.readAll()),
      stream: await collect(store.read('verdict-SIM.C1.1m', { from: 3 })),
      backwards: await collect(store.read('outcome-SIM.C2.1m', { direction: 'backwards', limit: 40 })),
    }
    const { events } = await archive(file)
    expect(events).toBe(COUNT * 1.5)
    expect(raw().filter(({ data }) => data.startsWith('archived'))).toHaveLength(events)
    for (const reads of [store, new LogReader(file)]) {
      expect(await collect(reads.readAll({}))).toEqual(before.all)
      expect(await collect(reads.read('verdict-SIM.C1.1m', { from: 3 }))).toEqual(before.stream)
      expect(await collect(reads.read('outcome-SIM.C2.1m', { direction: 'backwards', limit: 40 }))).toEqual(
        before.backwards,
      )
      if (reads !== store) await reads.close()
    }
    expect(rowsNow()).toEqual(rows)
  })

  test('takes the next events, and archives them the next time', async () => {
    await archive(file)
    const first = archiveNames()
    await appendSeries(store, { count: 50 })
    const all = await collect(store.readAll())
    expect(await archive(file)).toMatchObject({ events: 75 })
    expect(await archive(file)).toMatchObject({ events: 0, files: 0 })
    expect(archiveNames().filter((name) => first.includes(name))).toEqual(first)
    expect(await collect(store.readAll())).toEqual(all)
  })

  test('finds an append of an event that is archived, and refuses its id for another one', async () => {
    const event = madeUp({ said: 'once' })
    const appended = await store.append('verdict-SIM.C9.1m', [event], { expected: 'no-stream' })
    await archive(file)
    // Also where the archive is away: an append does not wait for it.
    renameSync(folder(), `${folder()}.away`)
    expect(await store.append('verdict-SIM.C9.1m', [event], { expected: 'no-stream' })).toEqual({
      ...appended,
      replayed: true,
    })
    await expect(
      store.append('verdict-SIM.C9.1m', [{ ...event, data: { said: 'twice' } }], { expected: 'no-stream' }),
    ).rejects.toMatchObject({ code: 'idempotency_conflict' })
    await expect(
      store.append('verdict-SIM.C9.1m', [madeUp({})], { expected: 'no-stream' }),
    ).rejects.toMatchObject({ code: 'revision_conflict', details: { actual: 0 } })
  })

  test('has taken verdicts and outcomes only: keys, debits and all else stay where they are', async () => {
    await archive(file)
    const archived = new Set(
      raw().flatMap(({ stream, data }) => (data.startsWith('archived') ? [stream] : [])),
    )
    expect([...archived].filter((stream) => !/^(?:verdict|outcome)-/.test(stream))).toEqual([])
    for (const name of archiveNames())
      expect(readFileSync(join(folder(), name)).includes('wrapped')).toBe(false)
    expect(raw().filter(({ stream }) => /^(?:verdict|outcome)-/.test(stream))).toHaveLength(COUNT * 1.5)
  })

  test('is opened by no release that does not know of archives', async () => {
    const version = (): unknown => {
      const db = new DatabaseSync(file, { readOnly: true })
      const found = db.prepare('PRAGMA user_version').get()?.user_version
      db.close()
      return found
    }
    expect(version()).toBe(1)
    await archive(file, { before: new Date(0) })
    // Nothing was old enough.
    expect(version()).toBe(1)
    await archive(file)
    expect(version()).toBe(2)
    await store.close()
    store = await openEmbeddedStore({ directory, now: Date.now })
    expect(version()).toBe(2)
  })

  test('of a later layout is refused by whoever opens it', async () => {
    await store.close()
    const db = new DatabaseSync(file)
    db.exec('PRAGMA user_version = 3')
    db.close()
    const refusal = { code: 'event_unreadable', message: expect.stringContaining('layout 3') }
    await expect(openEmbeddedStore({ directory, now: Date.now })).rejects.toMatchObject(refusal)
    for (const open of [() => new LogReader(file), () => openStoredRows(file)])
      expect(open).toThrow(expect.objectContaining(refusal))
    await expect(archive(file)).rejects.toMatchObject(refusal)
  })
})

describe('a key that is erased after events beside it were archived', () => {
  test.each([40, 300])('is in no file any more, with one in %i events', async (keysEvery) => {
    const other = join(directory, `keys-${keysEvery}`)
    const keyed = await openEmbeddedStore({ directory: other, now: Date.now })
    await appendSeries(keyed, { count: 1_500, keysEvery })
    await archive(logFile(other))
    const made = Array.from({ length: 1_500 }, (_, n) => n).filter((n) => n % keysEvery === 3)
    for (const n of made) await keyed.erase(`subject-${n}.0`)
    await keyed.close()
    const bytes = readFileSync(logFile(other))
    expect(made.filter((n) => bytes.includes(keyOf(n)))).toEqual([])
  })
})

describe('an archiving', () => {
  const instantOf = (events: readonly RecordedEvent[], index: number): Date =>
    new Date(events[index]?.at ?? '')

  test('stops at the instant that it is given', async () => {
    const all = await collect(store.readAll())
    const before = instantOf(all, 450)
    await archive(file, { before })
    const short = new Set(
      raw().flatMap(({ data }, index) => (data.startsWith('archived') ? [index + 1] : [])),
    )
    const isOld = ({ stream, at }: RecordedEvent): boolean =>
      /^(?:verdict|outcome)-/.test(stream) && at < before.toISOString()
    expect(all.filter(isOld).length).toBeGreaterThan(100)
    expect([...short]).toEqual(all.filter(isOld).map(({ position }) => Number(position)))
  })

  test('that was interrupted between any two pages is gone on with', async () => {
    for (let pages = 1; pages < 4; pages++) {
      const ending = new AbortController()
      let done = 0
      await archive(file, { signal: ending.signal, onProgress: () => ++done === pages && ending.abort() })
      expect(rowsNow()).toEqual(rows)
      expect(raw().some(({ stream, data }) => stream.startsWith('verdict-') && data.startsWith('{'))).toBe(
        true,
      )
    }
    await archive(file)
    expect(rowsNow()).toEqual(rows)
    expect(
      raw().filter(({ stream, data }) => /^(?:verdict|outcome)-/.test(stream) && data.startsWith('{')),
    ).toEqual([])
  })

  test('is refused beside another one', async () => {
    let second: Promise<unknown> | undefined
    await archive(file, {
      onProgress() {
        second ??= archive(file).catch((error: unknown) => error)
      },
    })
    expect(await second).toMatchObject({ code: 'store_locked' })
  })

  test('goes on beside appends, which are all there', async () => {
    const appending = appendSeries(store, { count: 300 })
    await archive(file, {
      before: instantOf(await collect(store.readAll()), 800),
      sleep: () => new Promise((done) => setTimeout(done, 1)),
    })
    await appending
    expect(rowsNow().slice(0, rows.length)).toEqual(rows)
    expect(await collect(store.readAll({ filter: { types: ['VerdictRecorded'] } }))).toHaveLength(COUNT + 300)
  })

  test('puts nothing into a folder that lacks what was archived before', async () => {
    await archive(file)
    await appendSeries(store, { count: 20 })
    renameSync(folder(), `${folder()}.away`)
    await expect(archive(file)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('is missing'),
    })
    expect(archiveNames()).toEqual([])
  })

  test('leaves the log as it is where what it reads back is not what it wrote', async () => {
    // A folder whose files come out another way: what is put there is cut.
    await expect(
      archive(file, {
        elapsed() {
          for (const name of archiveNames()) truncateSync(join(folder(), name), 10)
          return 0
        },
      }),
    ).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(raw().filter(({ data }) => data.startsWith('archived'))).toEqual([])
    for (const name of archiveNames()) rmSync(join(folder(), name))
    await archive(file)
    expect(rowsNow()).toEqual(rows)
  })

  test('gives room for what comes, and the disk all of it once nobody has the log open', async () => {
    const { freeBytes } = await archive(file)
    expect(freeBytes).toBeGreaterThan(0)
    const size = readFileSync(file).length
    expect(() => shrinkLog(file)).toThrow(expect.objectContaining({ code: 'store_locked' }))
    await store.close()
    shrinkLog(file)
    expect(size - readFileSync(file).length).toBeGreaterThanOrEqual(freeBytes)
    store = await openEmbeddedStore({ directory, now: Date.now })
    expect(rowsNow()).toEqual(rows)
  })
})

describe('an archive that is', () => {
  beforeEach(async () => {
    await archive(file)
  })
  const refusal = (what: string) =>
    expect.objectContaining({ code: 'store_unavailable', message: expect.stringContaining(what) })

  test.each([
    ['away', () => renameSync(folder(), `${folder()}.away`), 'cannot be read'],
    ['a file short', () => rmSync(firstFile()), 'cannot be read'],
    ['cut off', () => truncateSync(firstFile(), 100), 'is damaged: it ends at'],
    [
      'changed',
      () => {
        const bytes = readFileSync(firstFile())
        bytes[20] = (bytes[20] ?? 0) ^ 1
        writeFileSync(firstFile(), bytes)
      },
      'is damaged: at 0, its SHA-256 is',
    ],
  ])('%s is named to whoever needs it, and all else goes on', async (_, harm, what) => {
    const name = archiveNames()[0] ?? ''
    harm()
    await expect(collect(store.readAll())).rejects.toThrow(refusal(what))
    await expect(collect(store.readAll())).rejects.toThrow(refusal(name))
    expect(() => rowsNow()).toThrow(refusal(what))
    const appended = await store.append('verdict-SIM.C0.1m', [madeUp({ is: 'new' })], { expected: 'any' })
    expect(await collect(store.read('verdict-SIM.C0.1m', { direction: 'backwards', limit: 1 }))).toHaveLength(
      1,
    )
    expect(await collect(store.readAll({ after: String(rows.length) }))).toMatchObject([
      { position: appended.position },
    ])
    expect(await collect(store.read('quota-x.2026-11'))).toHaveLength(COUNT / 10)
  })

  test('back again is read, without a start', async () => {
    renameSync(folder(), `${folder()}.away`)
    await expect(collect(store.readAll())).rejects.toThrow(refusal('cannot be read'))
    mkdirSync(folder())
    for (const name of readdirSync(`${folder()}.away`))
      renameSync(join(`${folder()}.away`, name), join(folder(), name))
    expect(rowsNow()).toEqual(rows)
    expect(await collect(store.readAll())).toHaveLength(rows.length - COUNT / 200)
  })

  test('of another log is told apart', async () => {
    const other = join(directory, 'other')
    const foreign = await openEmbeddedStore({ directory: other, now: Date.now })
    await appendSeries(foreign, { count: COUNT })
    await archive(logFile(other))
    await foreign.close()
    const [theirs = ''] = readdirSync(join(other, 'archive')).toSorted()
    renameSync(join(other, 'archive', theirs), firstFile())
    await expect(collect(store.readAll())).rejects.toThrow(refusal('is damaged'))
  })
})
