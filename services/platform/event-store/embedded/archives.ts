import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../../contracts/errors.ts'
import type { StoredRow } from './stored-row.ts'

/** What stands in the log instead of data that was moved: `@3`, the number of the archive that holds it. */
const MARK = /^@(\d{1,6})$/

/** Where an archive stands, as the log says. */
export interface ArchiveEntry {
  readonly number: number
  /** As it was named: beside the log, or an absolute path. */
  readonly file: string
  readonly first: number
  readonly last: number
  readonly events: number
}

/** Older data of a log that was moved to files of their own; each is opened when something of it is read. */
export interface Archives {
  /** Data that is here, or the data that a mark stands for. */
  data(position: number, data: string): string
  restored(row: StoredRow): StoredRow
  close(): void
}

export const ARCHIVE_TABLE = `
CREATE TABLE IF NOT EXISTS archive (
  number INTEGER PRIMARY KEY,
  file   TEXT NOT NULL,
  first  INTEGER NOT NULL,
  last   INTEGER NOT NULL,
  events INTEGER NOT NULL
) STRICT`

/** @param file the log, `events.db` */
export function openArchives(file: string): Archives {
  const opened = new Map<number, { readonly db: DatabaseSync; readonly find: StatementSync }>()

  function open(number: number): { readonly db: DatabaseSync; readonly find: StatementSync } {
    const known = opened.get(number)
    if (known !== undefined) return known
    const entry = listArchives(file).find((one) => one.number === number)
    const path = entry === undefined ? undefined : archivePath(file, entry.file)
    if (path === undefined || !existsSync(path)) throw away(number, path, 'it is not there')
    try {
      const db = new DatabaseSync(path, { readOnly: true })
      const archive = { db, find: db.prepare('SELECT data FROM archived WHERE position = ?') }
      opened.set(number, archive)
      return archive
    } catch (error) {
      throw away(number, path, reasonOf(error))
    }
  }

  function data(position: number, stored: string): string {
    const number = Number(MARK.exec(stored)?.[1] ?? -1)
    if (number < 0) return stored
    const found = open(number).find.get(position) as { readonly data: string } | undefined
    if (found === undefined) throw away(number, undefined, `it does not hold position ${position}`)
    return found.data
  }

  return {
    data,
    restored: ([position, stream, revision, type, schema, id, at, stored, meta]) => [
      position,
      stream,
      revision,
      type,
      schema,
      id,
      at,
      data(position, stored),
      meta,
    ],
    close() {
      for (const { db } of opened.values()) db.close()
      opened.clear()
    },
  }
}

/** Every archive of a log, oldest first. */
export function listArchives(file: string): ArchiveEntry[] {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const hasAny = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'archive'").get()
    if (hasAny === undefined) return []
    return db.prepare('SELECT * FROM archive ORDER BY number').all() as unknown as ArchiveEntry[]
  } finally {
    db.close()
  }
}

export const archivePath = (file: string, named: string): string =>
  isAbsolute(named) ? named : join(dirname(file), named)

const away = (number: number, path: string | undefined, why: string): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `older verdicts stand in archive ${number}${path === undefined ? '' : ` (${path})`}, which cannot be read: ${why}`,
    nextStep: 'Bring the file of the archive back to where it was; `signal store archives` lists them.',
  })
