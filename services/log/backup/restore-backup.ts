import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { firstStreamOf, STORE_IDENTITY_STREAM } from '../../../contracts/streams.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { buildLog, type LogBuild } from '../embedded/build-log.ts'
import { logFile } from '../embedded/embedded-store.ts'
import { freeBytes } from '../embedded/free-bytes.ts'
import { rowsOf, type StoredRow, textOf } from '../embedded/stored-row.ts'
import { openStoredRows } from '../embedded/stored-rows.ts'
import { hashBefore, hashOf, MANIFEST_NAME, type Manifest, parseManifest } from './manifest.ts'
import { chained, damaged, sha256Of, unpackSegment } from './segment.ts'
import type { BackupStorage } from './storage.ts'

export interface RestoreOptions {
  readonly storage: BackupStorage
  readonly key: Uint8Array
  /** Folder of the market; what it may hold is in {@link MAY_BE_THERE}. */
  readonly directory: string
  /** Position of the last event; all where it is left out. */
  readonly upTo?: number | undefined
  /** Names of streams of keys that were erased: what the backup holds of them is left out. */
  readonly erased: ReadonlySet<string>
  /** Looked at before anything is written; throws where this backup is not to be restored here. */
  readonly accept: (manifest: Manifest) => void
  /** Looked at when the log is whole and before it stands in its place. */
  readonly inspect: (first: StoredRow) => void
  /** Given the subjects that were erased, before the log stands in its place; durable when it returns. */
  readonly remember: (erased: readonly string[]) => void
  readonly signal: AbortSignal
  readonly onProgress: (progress: {
    readonly position: number
    readonly head: number
    readonly doing: string
  }) => void
}

export interface RestoreResult {
  readonly position: number
  readonly events: number
  /** When the newest event was appended. */
  readonly at: string
  /** Hash of the log that was restored: the one of the manifest, where all of it was. */
  readonly hash: string
  /** Streams of keys that were erased. */
  readonly erased: readonly string[]
}

/** Files that an operator puts beside a log before it is restored. */
export const MAY_BE_THERE: ReadonlySet<string> = new Set([
  'sealing.key',
  'wrapping.keys',
  'log.keys',
  'newest-checkpoint',
  'erased-subjects',
  'sealed',
])

/**
 * Builds the log of a backup in an empty folder. It gets its name only after every event was read back with the hash of
 * the backup. @throws ServiceError `config_invalid`, `backup_damaged`, `store_full`, `backup_unreachable`,
 * `store_locked`
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { storage, directory } = options
  const manifest = await readManifest(storage, options.key)
  options.accept(manifest)
  requireWithin(manifest, options.upTo)
  makePrivateFolder(directory)
  requireEmpty(directory)
  requireRoom(directory, manifest)
  const lock = takeFileLock(join(directory, 'events.lock'), 'the event store')
  try {
    const build = buildLog(logFile(directory))
    try {
      return await fill(options, manifest, build)
    } finally {
      build.discard()
    }
  } finally {
    lock.release()
  }
}

/** @throws ServiceError `backup_damaged` where there is none; those of {@link parseManifest} */
export async function readManifest(storage: BackupStorage, key: Uint8Array): Promise<Manifest> {
  const stored = await storage.get(MANIFEST_NAME)
  if (stored !== undefined) return parseManifest(stored.body.toString('utf8'), key)
  throw new ServiceError('backup_damaged', {
    message: `${storage.description} holds no backup: ${MANIFEST_NAME} is not there`,
    nextStep: 'Check the address; `signal backup` makes a backup there.',
  })
}

/** @throws ServiceError `backup_damaged` where it is missing, or not what the manifest says */
export async function readSegment(
  storage: BackupStorage,
  entry: { readonly name: string; readonly first?: number; readonly events: number; readonly sha256: string },
): Promise<StoredRow[]> {
  const stored = await storage.get(entry.name)
  if (stored === undefined) throw damaged(entry, 'it is missing')
  const rows = rowsOf(unpackSegment(stored.body, entry))
  if (rows.length === entry.events) return rows
  throw damaged(entry, `it holds ${rows.length} events, not ${entry.events}`)
}

function requireWithin({ head }: Manifest, upTo: number | undefined): void {
  if (upTo === undefined || (upTo >= 1 && upTo <= head)) return
  throw new ServiceError('config_invalid', {
    message: `position ${upTo} is not in the backup, which goes from 1 to ${head}`,
  })
}

function requireEmpty(directory: string): void {
  const others = readdirSync(directory).filter((name) => !MAY_BE_THERE.has(name) && !isLeftOver(name))
  if (others.length === 0) return
  throw new ServiceError('config_invalid', {
    message: `${directory} is not empty: it holds ${others.slice(0, 5).join(', ')}${others.length > 5 ? ' and more' : ''}`,
    nextStep: `Restore into another folder (--data-dir). Beside the log may stand: ${[...MAY_BE_THERE].join(', ')}.`,
  })
}

/** A file of a restore that was ended. */
const isLeftOver = (name: string): boolean =>
  name.startsWith('events.db.unfinished') || name.startsWith('events.lock')

/** Lines and indexes take about this much more than the text. */
const FILE_SHARE = 1.4

function requireRoom(directory: string, { segments }: Manifest): void {
  const free = freeBytes(existsSync(directory) ? directory : dirname(directory))
  const needed = FILE_SHARE * segments.reduce((sum, { bytes }) => sum + bytes, 0)
  if (free > needed) return
  throw new ServiceError('store_full', {
    message: `the disk of ${directory} has ${megabytes(free)} MB free, and the log takes about ${megabytes(needed)} MB`,
    nextStep: 'Free space there, or name a folder on another disk.',
  })
}

const megabytes = (bytes: number): string => Math.ceil(bytes / 1_000_000).toLocaleString('en')

interface Filled {
  /** SHA-256 of each segment, as far as it was taken. */
  readonly sha256s: string[]
  readonly ends: number[]
  position: number
  at: string
}

async function fill(options: RestoreOptions, manifest: Manifest, build: LogBuild): Promise<RestoreResult> {
  const { storage, onProgress, signal } = options
  const head = options.upTo ?? manifest.head
  const isWanted = ([position]: StoredRow): boolean => position <= head
  const keys = await readKeys(options, manifest)
  const filled: Filled = { sha256s: [], ends: [], position: 0, at: '' }
  let hash = hashBefore(manifest.logId)
  for (const entry of manifest.segments) {
    if (entry.first > head) break
    signal.throwIfAborted()
    const rows = await readSegment(storage, entry)
    const own = keys.filter(([position]) => position >= entry.first && position <= entry.last)
    const all = own.length === 0 ? rows : [...rows, ...own].toSorted((a, b) => a[0] - b[0])
    const cut = all.filter(isWanted)
    build.insert(cut)
    const isCut = cut.length < all.length
    const sha256 = isCut ? sha256Of(textOf(rows.filter(isWanted))) : entry.sha256
    const last = cut.at(-1)
    filled.sha256s.push(sha256)
    filled.ends.push(last?.[0] ?? filled.position)
    filled.position = last?.[0] ?? filled.position
    filled.at = last?.[6] ?? filled.at
    hash = chained(hash, sha256)
    onProgress({ position: filled.position, head, doing: 'events are in the file' })
    if (isCut) break
  }
  assert(
    filled.position !== manifest.head || hash === hashOf(manifest),
    'a log that is restored whole has the hash of its backup',
    filled.position,
  )
  build.index()
  inspectFirst(options, build.file)
  verify(options, build.file, filled)
  const { position, at } = filled
  const erased = erasedIn(keys)
  options.remember(erased)
  build.finish()
  return { position, events: position, at, hash, erased }
}

const isErased = ([, , , , , , , data]: StoredRow): boolean => !data.startsWith('{')

/** An erased event holds as many blanks as there were bytes. */
const blank = (text: string): string => ' '.repeat(Buffer.byteLength(text))

async function readKeys({ storage, erased }: RestoreOptions, { keys }: Manifest): Promise<StoredRow[]> {
  if (keys === null) return []
  const stored = await storage.get(keys.name)
  if (stored === undefined)
    throw damaged(keys, 'it is missing, and with it what is personal of every account')
  const rows = rowsOf(unpackSegment(stored.body, keys))
  // The newest copy of a key: where it was sealed anew, the older one was erased.
  const newest = new Map(rows.filter((row) => !isErased(row)).map((row) => [firstStreamOf(row[1]), row]))
  return rows.map((row) => {
    const [position, stream, revision, type, schema, id, at, data, meta] = row
    const subject = firstStreamOf(stream)
    if (erased.has(subject))
      return [position, stream, revision, type, schema, id, at, blank(data), blank(meta)]
    // A log that ends before its key was sealed anew needs the key where it was: the copy opens in any of its places.
    const copy = newest.get(subject)
    if (!isErased(row) || copy === undefined) return row
    return [position, stream, revision, type, schema, id, at, copy[7], copy[8]]
  })
}

/** Subjects of which no key is left. */
function erasedIn(keys: readonly StoredRow[]): string[] {
  const left = new Set(keys.filter((row) => !isErased(row)).map(([, stream]) => firstStreamOf(stream)))
  const all = new Set(keys.map(([, stream]) => firstStreamOf(stream)))
  return [...all].filter((subject) => !left.has(subject)).toSorted()
}

function inspectFirst({ inspect }: RestoreOptions, file: string): void {
  const rows = openStoredRows(file)
  try {
    const first = rows.find(STORE_IDENTITY_STREAM, 0)
    if (first === undefined) throw notWhole('it does not say whose it is')
    inspect(first)
  } finally {
    rows.close()
  }
}

const PAGE_ROWS = 2_000

/** Reads the new file from the beginning: every position is there once, and each segment has its hash. */
function verify({ signal, onProgress }: RestoreOptions, file: string, filled: Filled): void {
  const rows = openStoredRows(file)
  try {
    let [position, events] = [0, 0]
    for (const [index, end] of filled.ends.entries()) {
      signal.throwIfAborted()
      const parts: string[] = []
      while (position < end) {
        const page = rows.everything(position, end, PAGE_ROWS)
        if (page.length === 0) break
        events += page.length
        assert((page[0]?.[0] ?? 0) > position, 'a page of the log begins after the one before it', position)
        position = page.at(-1)?.[0] ?? end
        parts.push(textOf(page.filter(([, stream]) => !stream.startsWith('subject-'))))
      }
      if (sha256Of(parts.join('')) !== filled.sha256s[index]) throw notWhole(`up to position ${end}`)
      onProgress({ position, head: filled.position, doing: 'events are verified' })
    }
    if (position !== filled.position || events !== filled.position)
      throw notWhole(`${filled.position - events} of ${filled.position} events are missing`)
  } finally {
    rows.close()
  }
}

const notWhole = (why: string): ServiceError =>
  new ServiceError('backup_damaged', {
    message: `the log that was restored is not the one that was backed up: ${why}`,
  })
