import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { makePrivate } from '../../runtime/sqlite/private-files.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import { removeRows } from '../projector/rows-file.ts'
import { freeBytes } from './free-bytes.ts'

/** The rows of a page of the log, written out. No later event changes them. */
export interface WrittenPage {
  readonly rows: number
  /** The latest end of their windows, market time. */
  readonly closedAt: number
  readonly bytes: Uint8Array
}

/** A power cut may damage the file: it follows from the log, and each page has a checksum. */
const TABLES = `
PRAGMA busy_timeout = 1000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS page (name TEXT PRIMARY KEY, rows INTEGER, closedAt INTEGER, size INTEGER, packed BLOB, sum INTEGER) STRICT;
CREATE TABLE IF NOT EXISTS newest (one INTEGER PRIMARY KEY, position INTEGER, id TEXT, at TEXT) STRICT;`
/** An event that is appended again, after the log lost its end, comes at another time. */
const IS_KNOWN = 'SELECT 1 FROM newest JOIN log.event USING (position, id, at)'
const NOTE_NEWEST =
  'INSERT OR REPLACE INTO newest SELECT 1, position, id, at FROM log.event ORDER BY position DESC LIMIT 1'
const SIZE = 'SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size'

/** Bytes that stay free, so that replays do not fill the disk that the log is on. */
const ROOM = 1_000_000_000

/** Three times as quick as the usual level, and no longer. */
const QUICK = { chunkSize: 65_536, params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export type WrittenPages = ReturnType<ReturnType<typeof openWrittenPages>['pagesOf']>

/**
 * Pages that were written out before, in a file beside the log: to unpack a row takes a sixth of the time that it takes
 * to read and to write it. The file may be deleted. One that is damaged, or of another log, is begun anew.
 *
 * @param layout of the rows: pages with another are forgotten
 * @param room free bytes of the disk, which the log needs more
 */
export function openWrittenPages(file: string, log: string, layout: number, room = () => freeBytes(file)) {
  let opened: ReturnType<typeof openFile> | undefined
  let isUsable = true

  function close(): void {
    opened?.db.close()
    opened = undefined
    isUsable = false
  }

  /** Rows come from the log where this fails, so that nobody is refused for it. */
  function attempt<Result>(work: (file: ReturnType<typeof openFile>) => Result): Result | undefined {
    if (!isUsable) return undefined
    try {
      opened ??= openFile(file, log, layout)
      return work(opened)
    } catch {
      close()
      removeRows(file)
      return undefined
    }
  }

  /** Pages in one format, by their number: page 0 begins with the first event of the log. */
  const pagesOf = (format: string) => ({
    get: (page: number): WrittenPage | undefined =>
      attempt(({ find }) => {
        const name = `${format} ${page}`
        const found = find.get(name) as Packed | undefined
        if (found === undefined) return undefined
        assert(found.sum === sumOf(found), 'a kept page of replays is what was written', name)
        // In one piece: it has room for one byte more than there are.
        const bytes = zstdDecompressSync(found.packed, { chunkSize: Math.max(64, found.size + 1) })
        return { rows: found.rows, closedAt: found.closedAt, bytes }
      }),
    has: (page: number): boolean => attempt(({ has }) => has.get(`${format} ${page}`)) !== undefined,
    /** @returns whether there was room for it */
    put: (page: number, { rows, closedAt, bytes }: WrittenPage): boolean =>
      attempt(({ db, size, put, noteNewest }) => {
        if (Number(size.get()?.size) > LIMITS.replayPageBytes || room() < ROOM) return false
        const packed = zstdCompressSync(bytes, QUICK)
        const kept = { name: `${format} ${page}`, rows, closedAt, size: bytes.length, packed }
        transaction(db, () => {
          put.run({ ...kept, sum: sumOf(kept) })
          noteNewest.run()
        })
        return true
      }) ?? false,
  })

  return { pagesOf, close }
}

const PUT = 'INSERT OR REPLACE INTO page VALUES (:name, :rows, :closedAt, :size, :packed, :sum)'

interface Packed extends Omit<WrittenPage, 'bytes'> {
  readonly name: string
  readonly size: number
  readonly packed: Uint8Array
  readonly sum?: number
}

const sumOf = ({ name, rows, closedAt, size, packed }: Packed): number =>
  crc32(packed, crc32(`${name} ${rows} ${closedAt} ${size}`))

function openFile(file: string, log: string, layout: number) {
  makePrivate(file)
  const db = new DatabaseSync(file)
  const { user_version: before } = db.prepare('PRAGMA user_version').get() ?? {}
  db.exec(`${TABLES} PRAGMA user_version = ${layout};`)
  db.prepare('ATTACH ? AS log').run(`${pathToFileURL(log).href}?mode=ro`)
  if (before !== layout || db.prepare(IS_KNOWN).get() === undefined) db.exec('DELETE FROM page')
  const [find, put] = [db.prepare('SELECT * FROM page WHERE name = ?'), db.prepare(PUT)]
  const has = db.prepare('SELECT 1 FROM page WHERE name = ?')
  return { db, find, has, put, size: db.prepare(SIZE), noteNewest: db.prepare(NOTE_NEWEST) }
}
