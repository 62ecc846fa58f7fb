import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { firstStreamOf, STORE_IDENTITY_STREAM } from '../../../contracts/events/streams.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { buildLog, type LogBuild } from '../embedded/build-log.ts'
import { logFile } from '../embedded/embedded-store.ts'
import { openStoredRows, type StoredRow, textOf } from '../embedded/stored-rows.ts'
import { chained, hashBefore, hashOf, type Manifest, sha256Of } from './manifest.ts'
import { type BackupAccess, type BackupProgress, readManifest, readSegment } from './read-backup.ts'

export interface RestoreOptions extends BackupAccess {
  /** Folder of the market; what it may hold is in {@link MAY_BE_THERE}. */
  readonly directory: string
  readonly upTo?: number | undefined
  /** Names of streams of keys that were erased: what the backup holds of them is left out. */
  readonly erased: ReadonlySet<string>
  /** Called before anything is written; throws if this backup is not to be restored here. */
  readonly accept: (manifest: Manifest) => void
  /** Called with the first event when the log is whole and before it gets its name. */
  readonly inspect: (first: StoredRow) => void
  /** Called with the subjects that were erased, before the log gets its name; durable when it returns. */
  readonly remember: (erased: readonly string[]) => void
  readonly onProgress: (progress: BackupProgress & { readonly doing: string }) => void
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
export async function restoreBackup(options: RestoreOptions) {
  const { directory, upTo } = options
  const manifest = await readManifest(options)
  options.accept(manifest)
  if (upTo !== undefined && (upTo < 1 || upTo > manifest.head))
    throw new ServiceError('config_invalid', {
      message: `position ${upTo} is not in the backup, which goes from 1 to ${manifest.head}`,
    })
  makePrivateFolder(directory)
  requireEmpty(directory)
  const lock = takeFileLock(join(directory, 'events.lock'), 'the event store')
  const build = buildLog(logFile(directory))
  try {
    return await fill(options, manifest, build)
  } finally {
    build.discard()
    lock.release()
  }
}

function requireEmpty(directory: string): void {
  // A restore that was ended leaves these two.
  const isLeftOver = (name: string): boolean => /^events\.(?:db\.unfinished|lock)/.test(name)
  const others = readdirSync(directory).filter((name) => !MAY_BE_THERE.has(name) && !isLeftOver(name))
  if (others.length === 0) return
  throw new ServiceError('config_invalid', {
    message: `${directory} is not empty: it holds ${others.slice(0, 5).join(', ')}${others.length > 5 ? ' and more' : ''}`,
    nextStep: `Restore into another folder (--data-dir). Beside the log may stand: ${[...MAY_BE_THERE].join(', ')}.`,
  })
}

/** A stretch of the log that is in the file: its last position, and the SHA-256 of its text. */
interface Stretch {
  readonly end: number
  readonly sha256: string
}

async function fill(options: RestoreOptions, manifest: Manifest, build: LogBuild) {
  const { storage, onProgress, signal, upTo: head = manifest.head } = options
  const keys = await readKeys(options, manifest)
  const stretches: Stretch[] = []
  let [position, at, hash] = [0, '', hashBefore(manifest.logId)]
  for (const entry of manifest.segments.filter(({ first }) => first <= head)) {
    signal.throwIfAborted()
    const upTo = Math.min(entry.last, head)
    const rows = (await readSegment(storage, entry)).filter((row) => row[0] <= upTo)
    const own = keys.filter((row) => row[0] >= entry.first && row[0] <= upTo)
    const all = own.length === 0 ? rows : [...rows, ...own].toSorted((a, b) => a[0] - b[0])
    build.insert(all)
    const sha256 = upTo < entry.last ? sha256Of(textOf(rows)) : entry.sha256
    position = all.at(-1)?.[0] ?? position
    at = all.at(-1)?.[6] ?? at
    hash = chained(hash, sha256)
    stretches.push({ end: position, sha256 })
    onProgress({ position, head, doing: 'events are in the file' })
  }
  const isSame = position !== manifest.head || hash === hashOf(manifest)
  assert(isSame, 'a log that is restored whole has the hash of its backup', position)
  build.index()
  verify(options, build.file, stretches)
  const erased = erasedIn(keys)
  options.remember(erased)
  build.finish()
  // The hash is the one of the manifest, if all of it was restored.
  return { position, events: position, at, hash, erased }
}

const isErased = ([, , , , , , , data]: StoredRow): boolean => !data.startsWith('{')

/** An erased event holds as many blanks as there were bytes. */
const blank = (text: string): string => ' '.repeat(Buffer.byteLength(text))

const withTexts = (row: StoredRow, data: string, meta: string): StoredRow =>
  [...row.slice(0, 7), data, meta] as unknown as StoredRow

async function readKeys({ storage, erased }: RestoreOptions, { keys }: Manifest): Promise<StoredRow[]> {
  const rows: StoredRow[] = []
  for (const entry of keys) rows.push(...(await readSegment(storage, entry)))
  // The newest copy of a key: where it was sealed anew, the older one was erased.
  const newest = new Map(rows.filter((row) => !isErased(row)).map((row) => [firstStreamOf(row[1]), row]))
  return rows.map((row) => {
    const subject = firstStreamOf(row[1])
    if (erased.has(subject)) return withTexts(row, blank(row[7]), blank(row[8]))
    // A log that ends before its key was sealed anew needs the key where it was: the copy opens in any of its places.
    const copy = newest.get(subject)
    return copy !== undefined && isErased(row) ? withTexts(row, copy[7], copy[8]) : row
  })
}

/** Subjects of which no key is left. */
function erasedIn(keys: readonly StoredRow[]): string[] {
  const left = new Set(keys.filter((row) => !isErased(row)).map(([, stream]) => firstStreamOf(stream)))
  const all = new Set(keys.map(([, stream]) => firstStreamOf(stream)))
  return [...all].filter((subject) => !left.has(subject)).toSorted()
}

const PAGE_ROWS = 2_000

/** Reads the new file from the beginning: it is this service's, every position is there once, each stretch has its hash. */
function verify(
  { inspect, signal, onProgress }: RestoreOptions,
  file: string,
  stretches: readonly Stretch[],
): void {
  const rows = openStoredRows(file)
  try {
    const first = rows.find(STORE_IDENTITY_STREAM, 0)
    if (first === undefined) throw notWhole('it does not say whose it is')
    inspect(first)
    const head = stretches.at(-1)?.end ?? 0
    let [position, events] = [0, 0]
    for (const { end, sha256 } of stretches) {
      signal.throwIfAborted()
      const parts: string[] = []
      while (position < end) {
        const page = rows.everything(position, end, PAGE_ROWS)
        events += page.length
        assert((page[0]?.[0] ?? end) > position, 'a page of the log begins after the one before it', position)
        position = page.at(-1)?.[0] ?? end
        parts.push(textOf(page.filter(([, stream]) => !stream.startsWith('subject-'))))
      }
      if (sha256Of(parts.join('')) !== sha256) throw notWhole(`up to position ${end}`)
      onProgress({ position, head, doing: 'events are verified' })
    }
    if (events !== head) throw notWhole(`${head - events} of ${head} events are missing`)
  } finally {
    rows.close()
  }
}

const notWhole = (why: string): ServiceError =>
  new ServiceError('backup_damaged', {
    message: `the log that was restored is not the one that was backed up: ${why}`,
  })
