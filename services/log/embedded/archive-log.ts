import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import { type ArchiveBlock, archivedMark, BLOCK_BYTES, blocksOf, packBlock } from './archive-block.ts'
import { archiveFiles, hasArchive } from './archive-tables.ts'
import { archiveFolder, readBlock } from './archived-contents.ts'
import { requireEnd, requireWholeLog } from './require-whole-log.ts'
import { eventsWithSums, type SummedRow, sound } from './row-sum.ts'
import { prepareArchive, prepareArchiver } from './schema.ts'
import { refusalOf } from './sqlite-refusal.ts'
import { type StoredRow, textOf } from './stored-row.ts'

export interface ArchiveOptions {
  /** `events.db` */
  readonly file: string
  /** Events that were appended before this instant are moved. */
  readonly before: Date
  readonly signal: AbortSignal
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Milliseconds that have passed since whenever. */
  readonly elapsed: () => number
  readonly onProgress: (progress: { readonly position: number; readonly upTo: number }) => void
  /** Text of a block, and of a file. */
  readonly blockBytes?: number
  readonly fileBytes?: number
}

export interface ArchiveResult {
  /** Events that this run has moved. */
  readonly events: number
  readonly files: number
  /** Bytes of those files. */
  readonly bytes: number
  /** Room in the file of the log for what comes. */
  readonly freeBytes: number
}

/** Streams that an archive takes: they only grow, hold nothing personal, and are most of a log. */
const IS_ARCHIVABLE =
  "((stream >= 'verdict-' AND stream < 'verdict.') OR (stream >= 'outcome-' AND stream < 'outcome.'))"
const COLUMNS = 'position, stream, revision, type, schema, id, at, data, meta'

const FILE_BYTES = 64 * 1_024 * 1_024
const PAGE_ROWS = 500
/** Blocks of a transaction: it is over within some hundredths of a second, and appends wait for no longer. */
const BLOCKS_A_COMMIT = 16
const LEAST_REST_MS = 5

/**
 * Rows on a page near a key are overwritten in place: taking a row out lets SQLite rebuild pages, which would leave
 * copies of a key that is erased later. Their room comes back with {@link shrinkLog}.
 */
const ROWS_BESIDE = 256

/**
 * Moves data of old verdicts and outcomes out of the log into files that never change, also beside the service. A file
 * is durable and read back before its first row is shortened, so an end at any moment leaves every event readable.
 * @throws ServiceError `store_locked`, `store_full`, `store_unavailable`
 */
export async function archiveLog(options: ArchiveOptions): Promise<ArchiveResult> {
  const { file } = options
  const folder = archiveFolder(file)
  const lock = takeFileLock(join(dirname(file), 'archive.lock'), 'an archiving')
  try {
    requireEnd(file)
    const db = new DatabaseSync(file)
    try {
      prepareArchiver(db)
      requireFiles(db, folder)
      return await move(db, folder, options)
    } catch (error) {
      throw refused(error)
    } finally {
      db.close()
    }
  } finally {
    lock.release()
  }
}

/** A folder in which what was archived before is not is another one, or its disk is away: nothing is put there. */
function requireFiles(db: DatabaseSync, folder: string): void {
  const there = new Set(attempt(folder, () => readdirSync(folder)))
  for (const name of there) if (name.endsWith(UNFINISHED)) rmSync(join(folder, name), { force: true })
  const missing = archiveFiles(db).find((name) => !there.has(name))
  if (missing === undefined) return
  throw new ServiceError('store_unavailable', {
    message: `${join(folder, missing)} of the archive is missing`,
    nextStep: `Mount the disk of the archive, or put the file back; ${folder} must lead to the folder that holds it.`,
  })
}

async function move(db: DatabaseSync, folder: string, options: ArchiveOptions): Promise<ArchiveResult> {
  const { signal, onProgress, elapsed, sleep } = options
  const upTo = lastBefore(db, options.before.toISOString())
  let [events, files, bytes] = [0, 0, 0]
  for (;;) {
    const written = signal.aborted ? undefined : writeFile(db, folder, { ...options, upTo })
    if (written === undefined) break
    files += 1
    for (let from = 0; from < written.blocks.length && !signal.aborted; from += BLOCKS_A_COMMIT) {
      const began = elapsed()
      const blocks = written.blocks.slice(from, from + BLOCKS_A_COMMIT)
      events += makeShort(db, folder, { name: written.name, blocks })
      bytes += blocks.reduce((sum, block) => sum + block.bytes, 0)
      onProgress({ position: blocks.at(-1)?.last ?? 0, upTo })
      // As long as appends may have waited, they have the log for themselves.
      await sleep(Math.max(LEAST_REST_MS, elapsed() - began))
    }
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const free = db.prepare(
    'SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size',
  )
  return { events, files, bytes, freeBytes: Number(free.get()?.bytes) }
}

/** The newest event before an instant; times never fall along the log. */
function lastBefore(db: DatabaseSync, instant: string): number {
  const at = db.prepare('SELECT position, at FROM event WHERE position <= ? ORDER BY position DESC LIMIT 1')
  let [older, newer] = [0, Number(db.prepare('SELECT max(position) AS head FROM event').get()?.head ?? 0) + 1]
  while (newer - older > 1) {
    const middle = Math.floor((older + newer) / 2)
    const found = at.get(middle)
    if (found === undefined || String(found.at) < instant) older = middle
    else newer = middle
  }
  return older
}

interface WrittenFile {
  readonly name: string
  readonly blocks: readonly ArchiveBlock[]
}

const UNFINISHED = '.unfinished'

/** The next file, durable in its place; undefined where nothing is left. */
function writeFile(
  db: DatabaseSync,
  folder: string,
  {
    upTo,
    blockBytes = BLOCK_BYTES,
    fileBytes = FILE_BYTES,
  }: Pick<ArchiveOptions, 'blockBytes' | 'fileBytes'> & { readonly upTo: number },
): WrittenFile | undefined {
  const unfinished = join(folder, `${process.pid}${UNFINISHED}`)
  const whole = createHash('sha256')
  const blocks: ArchiveBlock[] = []
  const after = archivedUpTo(db)
  let start = 0
  attempt(unfinished, () => {
    const handle = openSync(unfinished, 'w', 0o600)
    try {
      for (const rows of blocksOf(rowsAfter(db, after, upTo, fileBytes), blockBytes)) {
        const { body, sha256 } = packBlock(rows)
        for (let put = 0; put < body.length; ) put += writeSync(handle, body, put)
        const [first, last] = [rows[0]?.[0] ?? 0, rows.at(-1)?.[0] ?? 0]
        assert(first > (blocks.at(-1)?.last ?? after), 'blocks of an archive join without overlap', first)
        assert(last >= first && last <= upTo, 'a block of an archive ends within what is moved', last)
        whole.update(body)
        blocks.push({ first, last, start, bytes: body.length, sha256 })
        start += body.length
      }
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  })
  const [first, last] = [blocks[0]?.first, blocks.at(-1)?.last]
  if (first === undefined) {
    rmSync(unfinished, { force: true })
    return undefined
  }
  const end = blocks.reduce((sum, { bytes }) => sum + bytes, 0)
  assert(end === start, 'blocks fill their file without a hole', end)
  const range = [first, last].map((at) => String(at).padStart(12, '0')).join('-')
  const name = `${range}-${whole.digest('hex').slice(0, 16)}.zst`
  attempt(name, () => {
    renameSync(unfinished, join(folder, name))
    syncPath(folder)
  })
  return { name, blocks }
}

const archivedUpTo = (db: DatabaseSync): number =>
  hasArchive(db) ? Number(db.prepare('SELECT max(last) AS last FROM archive_block').get()?.last ?? 0) : 0

/** The rows to move, in the order of the log, until they fill a file. */
function* rowsAfter(db: DatabaseSync, after: number, upTo: number, fileBytes: number): Generator<StoredRow> {
  const page = db.prepare(
    `${eventsWithSums(db)} WHERE position > ? AND position <= ? AND ${IS_ARCHIVABLE} ORDER BY position LIMIT ${PAGE_ROWS}`,
  )
  page.setReturnArrays(true)
  let bytes = 0
  for (let position = after; ; ) {
    const rows = (page.all(position, upTo) as unknown as SummedRow[]).map(sound)
    for (const row of rows) {
      if (bytes > fileBytes) return
      bytes += row[7].length + row[8].length
      position = row[0]
      yield row
    }
    if (rows.length < PAGE_ROWS) return
  }
}

/** Reads blocks back, compares them with the log, and takes out of it what they hold. @returns how many events */
function makeShort(
  db: DatabaseSync,
  folder: string,
  { name, blocks }: { readonly name: string; readonly blocks: readonly ArchiveBlock[] },
): number {
  const range = 'position BETWEEN ? AND ?'
  const select = db.prepare(
    `SELECT ${COLUMNS} FROM event WHERE ${range} AND ${IS_ARCHIVABLE} ORDER BY position`,
  )
  select.setReturnArrays(true)
  const compared = blocks.map((block) => {
    const rows = select.all(block.first, block.last) as unknown as StoredRow[]
    const read = [...readBlock(folder, { ...block, name }).values()]
      .map((line) => line.toString('utf8'))
      .join('')
    if (read === textOf(rows)) return { block, rows }
    throw new ServiceError('store_unavailable', {
      message: `${join(folder, name)} of the archive does not hold what was written: positions ${block.first} to ${block.last} differ from the log, which keeps them`,
      nextStep: 'Look at the disk of the archive, and run the same command again.',
    })
  })
  transaction(db, () => {
    prepareArchive(db)
    db.prepare('INSERT INTO archive_file (name) VALUES (?) ON CONFLICT DO NOTHING').run(name)
    const register = db.prepare(
      'INSERT INTO archive_block (first, last, file, start, bytes, sha256) SELECT ?, ?, id, ?, ?, ? FROM archive_file WHERE name = ?',
    )
    const takeOut = db.prepare(`DELETE FROM event WHERE ${range} AND ${IS_ARCHIVABLE}`)
    const putBack = db.prepare(`INSERT INTO event (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')`)
    const overwrite = db.prepare("UPDATE event SET data = ?, meta = '' WHERE position = ?")
    for (const { block, rows } of compared) {
      const { first, last, start, bytes, sha256 } = block
      assert(rows[0]?.[0] === first && rows.at(-1)?.[0] === last, 'a block covers its events', first)
      register.run(first, last, start, bytes, sha256, name)
      if (hasKeyBeside(db, block)) {
        for (const [position, , , , , , , data] of rows) overwrite.run(archivedMark(data), position)
        continue
      }
      const { changes } = takeOut.run(first, last)
      assert(
        Number(changes) === rows.length,
        'as many events are put back as were taken out',
        Number(changes),
      )
      for (const [position, stream, revision, type, schema, id, at, data] of rows)
        putBack.run(position, stream, revision, type, schema, id, at, archivedMark(data))
    }
  })
  return compared.reduce((sum, { rows }) => sum + rows.length, 0)
}

const hasKeyBeside = (db: DatabaseSync, { first, last }: ArchiveBlock): boolean =>
  db
    .prepare(
      "SELECT 1 FROM event WHERE position BETWEEN ? AND ? AND +stream >= 'subject-' AND +stream < 'subject.' LIMIT 1",
    )
    .get(first - ROWS_BESIDE, last + ROWS_BESIDE) !== undefined

/**
 * Gives the disk what is free in the file of a log, which nobody has open meanwhile. @throws ServiceError `store_locked`
 * beside the service, `store_full`
 */
export function shrinkLog(file: string): void {
  const lock = takeFileLock(join(dirname(file), 'events.lock'), 'the event store')
  try {
    requireWholeLog(file)
    const db = new DatabaseSync(file)
    try {
      prepareArchiver(db)
      db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      throw refused(error)
    } finally {
      db.close()
    }
  } finally {
    lock.release()
  }
}

/** A refusal of SQLite as a service error. */
function refused(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const refusal = refusalOf(error, false)
  return new ServiceError(refusal.code, { ...refusal, cause: error })
}

function attempt<Result>(what: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG')
      throw new ServiceError('store_full', {
        message: `${what} of the archive cannot be written: its disk is full`,
        nextStep:
          'Free space there and run the same command again: it goes on where it was. The log has lost nothing.',
        cause: error,
      })
    throw new ServiceError('store_unavailable', {
      message: `${what} of the archive cannot be used: ${reasonOf(error)}`,
      nextStep:
        'Mount the disk of the archive, see that this user may write there, and run the same command again.',
      cause: error,
    })
  }
}
