import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { logFile, openEmbeddedStore } from '../embedded/embedded-store.ts'
import { openStoredRows } from '../embedded/stored-rows.ts'
import type { EventStore } from '../event-store.ts'
import { openFolderStorage } from './folder-storage.ts'
import { chained, hashBefore, type Manifest, packSegment, unpackSegment } from './manifest.ts'
import { checkBackup } from './read-backup.ts'
import { type RestoreOptions, restoreBackup } from './restore-backup.ts'
import type { BackupStorage } from './storage.ts'
import { type BackupOptions, takeBackup } from './take-backup.ts'
import { appendKey, appendSome, beginLog, eventsOf, readWhole } from './testing/made-log.fixture.ts'

const KEY = Buffer.alloc(32, 1)

let directory: string
let store: EventStore
let now = Date.parse('2026-11-22T12:00:00.000Z')
const signal = new AbortController().signal

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'backup-'))
  now = Date.parse('2026-11-22T12:00:00.000Z')
  store = await openEmbeddedStore({ directory: join(directory, 'log'), now: () => now })
})
afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

const place = (): BackupStorage => openFolderStorage(join(directory, 'backup'))

async function backUp(more: Partial<BackupOptions> = {}): ReturnType<typeof takeBackup> {
  const rows = openStoredRows(logFile(join(directory, 'log')))
  try {
    const options = { rows, storage: place(), key: KEY, now: () => now, signal, onProgress: () => undefined }
    return await takeBackup({ ...options, segmentBytes: 20_000, ...more })
  } finally {
    rows.close()
  }
}

const restore = (more: Partial<RestoreOptions> = {}, target = 'restored') =>
  restoreBackup({
    storage: place(),
    key: KEY,
    directory: join(directory, target),
    erased: new Set(),
    accept: () => undefined,
    inspect: () => undefined,
    remember: () => undefined,
    signal,
    onProgress: () => undefined,
    ...more,
  })

async function open<Result>(target: string, use: (store: EventStore) => Promise<Result>): Promise<Result> {
  const opened = await openEmbeddedStore({ directory: join(directory, target), now: () => now })
  try {
    return await use(opened)
  } finally {
    await opened.close()
  }
}

const check = (key: Uint8Array = KEY) => checkBackup({ storage: place(), key, signal }, () => undefined)
const segmentFiles = (): string[] => readdirSync(join(directory, 'backup', 'log')).toSorted()

describe('a log that was restored', () => {
  test('is the one that was backed up, event by event, and goes on', async () => {
    await beginLog(store)
    await appendSome(store, 400)
    const stream = await appendKey(store)
    await appendSome(store, 100)
    const { manifest } = await backUp()
    expect(manifest).toMatchObject({ head: 502, market: 'simulated' })
    expect(manifest.segments.length).toBeGreaterThan(2)
    const result = await restore()
    expect(result).toMatchObject({ position: 502, hash: manifest.segments.at(-1)?.hash, erased: [] })
    const whole = await readWhole(store)
    await open('restored', async (restored) => {
      expect(await readWhole(restored)).toEqual(whole)
      expect(await eventsOf(restored.read(stream))).toEqual(await eventsOf(store.read(stream)))
      await appendSome(restored, 1)
      expect(await restored.head()).toBe('503')
    })
  })

  test('to a position ends with that event, wherever in a segment it is', async () => {
    await beginLog(store)
    await appendSome(store, 300)
    const { manifest } = await backUp()
    const [first] = manifest.segments
    for (const position of [1, 2, Number(first?.last), Number(first?.last) + 1, 301]) {
      const target = `to-${position}`
      expect(await restore({ upTo: position }, target)).toMatchObject({ position })
      const expected = (await readWhole(store)).slice(0, position)
      await open(target, async (restored) => expect(await readWhole(restored)).toEqual(expected))
    }
  })
})

describe('a backup beside a service that writes', () => {
  test('backup × append: holds a beginning of the log, and the next one the rest', async () => {
    await beginLog(store)
    await appendSome(store, 500)
    let appending: Promise<void> | undefined
    const first = await backUp({
      onProgress: () => {
        appending ??= appendSome(store, 300, 'later')
      },
    })
    await appending
    expect(first.manifest.head).toBe(501)
    const files = segmentFiles()
    const second = await backUp()
    expect(second).toMatchObject({ events: 300, manifest: { head: 801 } })
    expect(segmentFiles().filter((file) => files.includes(file))).toEqual(files)
    expect(await backUp()).toMatchObject({ events: 0, segments: 0, manifest: { head: 801 } })
    await restore()
    const whole = await readWhole(store)
    await open('restored', async (restored) => expect(await readWhole(restored)).toEqual(whole))
  })

  test('that was interrupted goes on, wherever that was', async () => {
    await beginLog(store)
    await appendSome(store, 600)
    for (const failAt of [1, 2, 3, 5, 8]) {
      const inner = place()
      let puts = 0
      const failing: BackupStorage = {
        ...inner,
        async put(name, body) {
          if (++puts === failAt) throw new Error('the power is gone')
          return inner.put(name, body)
        },
        async replace(...write) {
          if (++puts === failAt) throw new Error('the power is gone')
          return inner.replace(...write)
        },
      }
      await expect(backUp({ storage: failing })).rejects.toThrow('the power is gone')
    }
    const stopping = new AbortController()
    const stopped = await backUp({ signal: stopping.signal, onProgress: () => stopping.abort() })
    expect(stopped.segments).toBe(1)
    await backUp()
    // What was left goes once no run can still name it.
    const { manifest } = await backUp({ now: () => Date.now() + 2 * DAY_MS })
    expect(segmentFiles()).toEqual(manifest.segments.map(({ name }) => name.slice(4)).toSorted())
    expect((await check()).segments).toEqual(manifest.segments)
    await restore()
  })

  test('of two at once, the one that names its files second ends, and the next one goes on', async () => {
    await beginLog(store)
    await appendSome(store, 600)
    let other: Promise<unknown> | undefined
    const slow: BackupStorage = {
      ...place(),
      async put(name, body) {
        other ??= backUp()
        await other
        return place().put(name, body)
      },
    }
    await expect(backUp({ storage: slow })).rejects.toMatchObject({ code: 'store_locked' })
    await appendSome(store, 10)
    expect(await backUp()).toMatchObject({ events: 10 })
    await restore()
  })

  test('is refused where the log was set back behind it, and where another log is kept', async () => {
    await beginLog(store)
    await appendSome(store, 100)
    await backUp()
    await restore({ upTo: 50 })
    const rows = openStoredRows(logFile(join(directory, 'restored')))
    await expect(backUp({ rows })).rejects.toMatchObject({
      code: 'store_mismatch',
      message: expect.stringMatching(/set back.*101/),
    })
    rows.close()
    await open('other', async (other) => {
      await beginLog(other)
    })
    const others = openStoredRows(logFile(join(directory, 'other')))
    await expect(backUp({ rows: others })).rejects.toThrow('another log')
    others.close()
  })
})

describe('erasure holds in backups', () => {
  test('backup × erase: a key that was erased is in no file of the backup after the next one', async () => {
    const secret = 'wrapped-key-of-somebody'
    await beginLog(store)
    await appendSome(store, 100)
    const stream = await appendKey(store, randomUUID(), secret)
    const kept = await appendKey(store)
    const { manifest: before } = await backUp()
    await store.erase(stream)
    await backUp()
    expect(existsSync(join(directory, 'backup', String(before.keys[0]?.name)))).toBe(false)
    const { erased } = await restore({ upTo: before.head })
    expect(erased).toEqual([stream])
    expect(readFileSync(join(directory, 'restored', 'events.db')).includes(secret)).toBe(false)
    await open('restored', async (restored) => {
      expect(await eventsOf(restored.read(stream))).toEqual([])
      expect(await eventsOf(restored.read(kept))).toHaveLength(1)
    })
  })

  test('keys of many accounts are in several files, of which the next backup writes those that changed', async () => {
    await beginLog(store)
    const keys = []
    for (let n = 0; n < 150; n++) keys.push(await appendKey(store))
    const { manifest: before } = await backUp()
    expect(before.keys.length).toBeGreaterThan(1)
    await store.erase(String(keys.at(-1)))
    const { manifest } = await backUp()
    expect(manifest.keys[0]).toEqual(before.keys[0])
    expect(readdirSync(join(directory, 'backup', 'keys'))).toHaveLength(manifest.keys.length)
    expect(await restore()).toMatchObject({ position: 151, erased: [keys.at(-1)] })
  })

  test('an older backup is restored without the keys that a list says were erased', async () => {
    const secret = 'wrapped-key-of-somebody'
    await beginLog(store)
    const stream = await appendKey(store, randomUUID(), secret)
    await backUp()
    const { erased } = await restore({ erased: new Set([stream]) })
    expect(erased).toEqual([stream])
    expect(readFileSync(join(directory, 'restored', 'events.db')).includes(secret)).toBe(false)
  })
})

describe('a backup is authentic', () => {
  const manifestFile = (): string => join(directory, 'backup', 'backup.json')
  interface Written {
    hmac?: string
    manifest: Manifest
  }
  const read = (): Written => JSON.parse(readFileSync(manifestFile(), 'utf8')) as Written

  /** The attack of somebody who can write to the place and has no key: every hash is made anew. */
  function forge(change: (manifest: Manifest, written: Written) => void): void {
    const written = read()
    change(written.manifest, written)
    writeFileSync(manifestFile(), JSON.stringify(written))
  }

  /** Adds an event to the last segment, with all hashes as they would be. */
  function addEvent(manifest: Manifest): void {
    const last = manifest.segments.at(-1) ?? expect.fail('the backup has no segment')
    const position = last.last + 1
    const before = manifest.segments.at(-2)?.hash ?? hashBefore(manifest.logId)
    const id = randomUUID()
    const row = [position, 'credit-8453-0x1', 0, 'CreditGiven', 1, id, last.lastAt, '{"value":"5000"}', '{}']
    const text = unpackSegment(readFileSync(join(directory, 'backup', last.name)), last)
    const { body, sha256, bytes } = packSegment(`${text}${row.join('\t')}\n`)
    const range = [last.first, position].map((at) => String(at).padStart(12, '0')).join('-')
    const name = `log/${range}-${sha256.slice(0, 16)}.zst`
    writeFileSync(join(directory, 'backup', name), body)
    const hash = chained(before, sha256)
    const changed = {
      ...last,
      name,
      last: position,
      events: last.events + 1,
      bytes,
      sha256,
      hash,
      lastId: id,
    }
    manifest.segments[manifest.segments.length - 1] = changed
    manifest.head = position
  }

  beforeEach(async () => {
    await beginLog(store)
    await appendSome(store, 300)
    await appendKey(store)
    await backUp()
  })

  test.each<[string, (manifest: Manifest, written: Written) => void, RegExp]>([
    ['an event that was put in', addEvent, /its signature is wrong/],
    ['a position that was changed', (manifest) => void (manifest.head -= 1), /its signature is wrong/],
    ['a signature that was taken away', (_, written) => void delete written.hmac, /hmac/],
  ])('%s is refused by whoever checks, restores or adds to it', async (_what, change, why) => {
    forge(change)
    await appendSome(store, 5)
    for (const use of [check, restore, backUp])
      await expect(use()).rejects.toMatchObject({
        code: 'backup_damaged',
        message: expect.stringMatching(why),
      })
    expect(existsSync(join(directory, 'restored'))).toBe(false)
  })

  test('after the sealing key was replaced, a new one is begun; the former opens with the former key', async () => {
    const later = Buffer.alloc(32, 2)
    const refused = { code: 'store_mismatch', nextStep: expect.stringContaining('begin a new backup') }
    await expect(backUp({ key: later })).rejects.toMatchObject(refused)
    await expect(check(later)).rejects.toMatchObject(refused)
    const storage = openFolderStorage(join(directory, 'new'))
    expect((await backUp({ key: later, storage })).manifest.head).toBe(302)
    await restore()
  })

  test('erase × backup: the keys that were replaced are signed with the rest', async () => {
    const stream = await appendKey(store)
    await backUp()
    const before = readFileSync(join(directory, 'backup', String(read().manifest.keys[0]?.name)))
    await store.erase(stream)
    await backUp()
    await check()
    writeFileSync(join(directory, 'backup', String(read().manifest.keys[0]?.name)), before)
    await expect(check()).rejects.toMatchObject({ code: 'backup_damaged' })
  })

  test('segments of two backups of one log do not mix', async () => {
    const rows = openStoredRows(logFile(join(directory, 'log')))
    await backUp({ rows, storage: openFolderStorage(join(directory, 'other')), segmentBytes: 30_000 })
    rows.close()
    const [first = ''] = segmentFiles()
    const [foreign = ''] = readdirSync(join(directory, 'other', 'log')).toSorted()
    cpSync(join(directory, 'other', 'log', foreign), join(directory, 'backup', 'log', first))
    await expect(check()).rejects.toMatchObject({ code: 'backup_damaged' })
    await expect(restore()).rejects.toMatchObject({ code: 'backup_damaged' })
  })

  test('an older manifest that is put back is what it was then, and the next run goes on from it', async () => {
    const older = readFileSync(manifestFile())
    await appendSome(store, 100)
    await backUp()
    writeFileSync(manifestFile(), older)
    expect(await check()).toMatchObject({ head: 302 })
    await backUp()
    expect(await check()).toMatchObject({ head: 402 })
  })
})

describe('a restore is refused', () => {
  beforeEach(async () => {
    await beginLog(store)
    await appendSome(store, 300)
    await backUp()
  })

  test('into a folder that is not empty, and leaves it as it is', async () => {
    await restore()
    await expect(restore()).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('not empty: it holds events.db'),
    })
  })

  test.each([
    [0, /position 0 is not in the backup, which goes from 1 to 301/],
    [302, /position 302 is not in the backup/],
  ])('to %j', async (upTo, message) => {
    await expect(restore({ upTo })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(message),
    })
    expect(existsSync(join(directory, 'restored', 'events.db'))).toBe(false)
  })

  test('where a segment is missing, and says how far it is whole', async () => {
    const [, second = ''] = segmentFiles()
    rmSync(join(directory, 'backup', 'log', second))
    await expect(restore()).rejects.toMatchObject({
      code: 'backup_damaged',
      message: expect.stringMatching(/is missing; what is whole goes up to position \d+$/),
    })
    expect(readdirSync(join(directory, 'restored'))).toEqual(['events.lock'])
    // What does not need it can be restored.
    await restore({ upTo: 5 })
  })

  test.each(['log', 'keys'])('where a file of %s is damaged at any byte', async (kind) => {
    await appendKey(store)
    await backUp()
    const folder = join(directory, 'backup', kind)
    const file = join(folder, String(readdirSync(folder).toSorted()[0]))
    const whole = kind === 'log' ? /; what is whole goes up to position 0$/ : /is damaged/
    const bytes = readFileSync(file)
    for (const index of [0, 5, Math.floor(bytes.length / 2), bytes.length - 1]) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ 1
      writeFileSync(file, changed)
      const refused = { code: 'backup_damaged', message: expect.stringMatching(whole) }
      await expect(restore({}, `at-${index}`)).rejects.toMatchObject(refused)
      await expect(check()).rejects.toMatchObject(refused)
    }
  })

  test('with a segment of another log, or a manifest that was changed', async () => {
    const manifest = join(directory, 'backup', 'backup.json')
    const text = readFileSync(manifest, 'utf8')
    writeFileSync(manifest, text.replace('"head":301', '"head":300'))
    await expect(restore()).rejects.toMatchObject({ code: 'backup_damaged' })
    writeFileSync(manifest, text)
    const [first = ''] = segmentFiles()
    await open('other', async (other) => {
      await beginLog(other)
      await appendSome(other, 300)
    })
    const rows = openStoredRows(logFile(join(directory, 'other')))
    await backUp({ rows, storage: openFolderStorage(join(directory, 'other-backup')) })
    rows.close()
    const [foreign = ''] = readdirSync(join(directory, 'other-backup', 'log')).toSorted()
    cpSync(join(directory, 'other-backup', 'log', foreign), join(directory, 'backup', 'log', first))
    await expect(restore()).rejects.toMatchObject({ code: 'backup_damaged' })
  })

  test('where there is no backup', async () => {
    await expect(restore({ storage: openFolderStorage(join(directory, 'nothing')) })).rejects.toThrow(
      'holds no backup',
    )
  })
})
