import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { logFile, openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import type { EventStore } from '../../log/event-store.ts'
import { checkBackup } from './check-backup.ts'
import { openFolderPlace } from './folder-place.ts'
import { hashBefore, type Manifest } from './manifest.ts'
import type { BackupPlace } from './place.ts'
import { type RestoreOptions, restoreBackup } from './restore-backup.ts'
import { chained, packSegment, sha256Of, unpackSegment } from './segment.ts'
import { type BackupKeys, type Signature, signatureOf } from './signature.ts'
import { type BackupOptions, type BackupResult, takeBackup } from './take-backup.ts'
import { appendKey, appendSome, beginLog, eventsOf, readWhole } from './testing/made-log.fixture.ts'

const KEYS: BackupKeys = { known: [Buffer.alloc(32, 1)], used: 0 }

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

const place = (): BackupPlace => openFolderPlace(join(directory, 'backup'))

async function backUp(more: Partial<BackupOptions> = {}): Promise<BackupResult> {
  const rows = openStoredRows(logFile(join(directory, 'log')))
  try {
    const options = { rows, place: place(), keys: KEYS, now: () => now, signal, onProgress: () => undefined }
    return await takeBackup({ ...options, segmentBytes: 20_000, ...more })
  } finally {
    rows.close()
  }
}

const restore = (more: Partial<RestoreOptions> = {}, target = 'restored') =>
  restoreBackup({
    place: place(),
    keys: KEYS,
    directory: join(directory, target),
    upTo: undefined,
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

const check = (keys: BackupKeys | null = KEYS) =>
  checkBackup({ place: place(), keys: keys ?? undefined, signal, onProgress: () => undefined })
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
      expect(await restore({ upTo: { position } }, target)).toMatchObject({ position })
      const expected = (await readWhole(store)).slice(0, position)
      await open(target, async (restored) => expect(await readWhole(restored)).toEqual(expected))
    }
  })

  test('to an instant holds what was appended then and before, and nothing else', async () => {
    await beginLog(store)
    await appendSome(store, 60)
    const instant = new Date(now)
    now += 1
    await appendSome(store, 60)
    await backUp()
    expect(await restore({ upTo: { instant } })).toMatchObject({ position: 61, at: instant.toISOString() })
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
      const failing: BackupPlace = {
        ...inner,
        async put(name, body) {
          if (++puts === failAt) throw new Error('the power is gone')
          return inner.put(name, body)
        },
      }
      await expect(backUp({ place: failing })).rejects.toThrow('the power is gone')
    }
    const stopping = new AbortController()
    const stopped = await backUp({ signal: stopping.signal, onProgress: () => stopping.abort() })
    expect(stopped.segments).toBe(1)
    const { manifest } = await backUp()
    expect(segmentFiles()).toEqual(manifest.segments.map(({ name }) => name.slice(4)).toSorted())
    expect((await check()).hash).toBe(manifest.segments.at(-1)?.hash)
    await restore()
  })

  test('is refused beside another one', async () => {
    await beginLog(store)
    const lock = await place().lock()
    await expect(backUp()).rejects.toMatchObject({ code: 'store_locked' })
    await lock.release()
    await backUp()
  })

  test('is refused where the log was set back behind it, and where another log is kept', async () => {
    await beginLog(store)
    await appendSome(store, 100)
    await backUp()
    await restore({ upTo: { position: 50 } })
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
    expect(existsSync(join(directory, 'backup', String(before.keys?.name)))).toBe(false)
    const point = { position: before.head }
    const { erased } = await restore({ upTo: point })
    expect(erased).toEqual([stream])
    expect(readFileSync(join(directory, 'restored', 'events.db')).includes(secret)).toBe(false)
    await open('restored', async (restored) => {
      expect(await eventsOf(restored.read(stream))).toEqual([])
      expect(await eventsOf(restored.read(kept))).toHaveLength(1)
    })
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
  const sealing = Buffer.alloc(32, 1)
  const later = { known: [sealing, Buffer.alloc(32, 2)], used: 1 }
  const manifestFile = (): string => join(directory, 'backup', 'backup.json')
  interface Written {
    sha256: string
    signature?: Signature
    manifest: Manifest
  }
  const read = (): Written => JSON.parse(readFileSync(manifestFile(), 'utf8')) as Written

  /** The attack of somebody who can write to the place and has no key: every hash is made anew. */
  function forge(change: (manifest: Manifest, written: Written) => void): void {
    const written = read()
    change(written.manifest, written)
    written.sha256 = sha256Of(JSON.stringify(written.manifest))
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

  test('and says so', async () => {
    expect(await check()).toMatchObject({ authenticity: 'authentic', manifest: { head: 302 } })
  })

  test('an event that was put in is refused by whoever checks, restores or adds to it', async () => {
    forge(addEvent)
    const refused = { code: 'backup_damaged', message: expect.stringContaining('its signature is wrong') }
    await expect(check()).rejects.toMatchObject(refused)
    await expect(restore()).rejects.toMatchObject(refused)
    expect(existsSync(join(directory, 'restored'))).toBe(false)
    await appendSome(store, 5)
    await expect(backUp()).rejects.toMatchObject(refused)
    // Without the key everything fits: that is why the answer says that nobody checked it.
    expect(await check(null)).toMatchObject({ authenticity: 'unchecked' })
  })

  test('an event that was put in, and the signature taken away, is never signed', async () => {
    forge((manifest, written) => {
      addEvent(manifest)
      delete written.signature
    })
    expect(await check()).toMatchObject({ authenticity: 'unsigned' })
    await appendSome(store, 5)
    await expect(backUp()).rejects.toMatchObject({
      code: expect.stringMatching(/store_mismatch|backup_damaged/),
    })
  })

  test('an event that was changed in the middle, and the signature taken away, is never signed', async () => {
    forge((manifest, written) => {
      const [first] = manifest.segments
      if (first === undefined) return
      const text = unpackSegment(readFileSync(join(directory, 'backup', first.name)), first)
      const { body, sha256 } = packSegment(text.replace('a\\ttab', 'b\\ttab'))
      writeFileSync(join(directory, 'backup', first.name), body)
      let hash = hashBefore(manifest.logId)
      first.sha256 = sha256
      for (const segment of manifest.segments) segment.hash = hash = chained(hash, segment.sha256)
      delete written.signature
    })
    expect(await check()).toMatchObject({ authenticity: 'unsigned' })
    await expect(backUp()).rejects.toMatchObject({
      code: 'backup_damaged',
      message: expect.stringContaining('its events are not those of the log'),
    })
  })

  test('one of a former release is compared with the log and signed by the next run', async () => {
    forge((_manifest, written) => {
      delete written.signature
    })
    expect(await check()).toMatchObject({ authenticity: 'unsigned' })
    await appendSome(store, 5)
    expect(await backUp()).toMatchObject({ events: 5 })
    expect(await check()).toMatchObject({ authenticity: 'authentic' })
  })

  test('after the key was replaced it is verified with the former one, and signed with the newest by the next run', async () => {
    expect(await check(later)).toMatchObject({ authenticity: 'former_key' })
    await backUp({ keys: later })
    expect(read().signature).toMatchObject({ key: 1 })
    expect(await check(later)).toMatchObject({ authenticity: 'authentic' })
    await expect(check()).rejects.toMatchObject({
      code: 'store_mismatch',
      message: expect.stringMatching(
        /signed with line 1 of wrapping\.keys .*which is not among the keys here/,
      ),
    })
    await expect(check({ known: [Buffer.alloc(32, 9)], used: 0 })).rejects.toThrow('signed with line 1')
  })

  test('a key that has been replaced signs no event into a backup', async () => {
    forge((manifest, written) => {
      addEvent(manifest)
      written.signature = signatureOf(JSON.stringify(manifest), KEYS)
    })
    expect(await check(later)).toMatchObject({ authenticity: 'former_key' })
    await appendSome(store, 5)
    await expect(backUp({ keys: later })).rejects.toMatchObject({ code: 'store_mismatch' })
  })

  test('erase × backup: the keys that were replaced are signed with the rest', async () => {
    const stream = await appendKey(store)
    await backUp()
    const before = readFileSync(join(directory, 'backup', String(read().manifest.keys?.name)))
    await store.erase(stream)
    await backUp()
    expect(await check()).toMatchObject({ authenticity: 'authentic' })
    writeFileSync(join(directory, 'backup', String(read().manifest.keys?.name)), before)
    await expect(check()).rejects.toMatchObject({ code: 'backup_damaged' })
  })

  test('segments of two backups of one log do not mix', async () => {
    const rows = openStoredRows(logFile(join(directory, 'log')))
    await backUp({ rows, place: openFolderPlace(join(directory, 'other')), segmentBytes: 30_000 })
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
    expect(await check()).toMatchObject({ authenticity: 'authentic', manifest: { head: 302 } })
    await backUp()
    expect(await check()).toMatchObject({ authenticity: 'authentic', manifest: { head: 402 } })
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
    [{ position: 0 }, /position 0 is not in the backup, which goes from 1 to 301/],
    [{ position: 302 }, /position 302 is not in the backup/],
    [{ instant: new Date('2026-11-22T12:00:00.001Z') }, /the newest event of the backup was appended at/],
    [{ instant: new Date('2026-11-22T11:59:59.999Z') }, /no event of the backup was appended/],
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
    await restore({ upTo: { position: 5 } })
  })

  test.each(['log', 'keys'])('where a file of %s is damaged at any byte', async (kind) => {
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
    await backUp({ rows, place: openFolderPlace(join(directory, 'other-backup')) })
    rows.close()
    const [foreign = ''] = readdirSync(join(directory, 'other-backup', 'log')).toSorted()
    cpSync(join(directory, 'other-backup', 'log', foreign), join(directory, 'backup', 'log', first))
    await expect(restore()).rejects.toMatchObject({ code: 'backup_damaged' })
  })

  test('where there is no backup', async () => {
    await expect(restore({ place: openFolderPlace(join(directory, 'nothing')) })).rejects.toThrow(
      'holds no backup',
    )
  })
})
