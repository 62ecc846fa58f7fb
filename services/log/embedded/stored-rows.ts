import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { EVENTS, isDamage, logDamaged, reading, type SummedRow, sound } from './row-sum.ts'
import { requireLayout } from './schema.ts'
import type { StoredRow } from './stored-row.ts'

export type { StoredRow } from './stored-row.ts'

/** Streams named `subject-…`: the only ones that are ever erased. */
const IS_ERASABLE = "(stream >= 'subject-' AND stream < 'subject.')"

/** A log file as it is, for copies of it. */
export type StoredRows = ReturnType<typeof openStoredRows>

/**
 * Reads the file of a log beside its writer, a page at a time, so that the writer is not held up. @throws ServiceError
 * `store_unavailable`
 */
export function openStoredRows(file: string) {
  const { db, statements } = open(file)

  const rowsOf = (statement: StatementSync, ...values: (number | string)[]): StoredRow[] =>
    reading(() => statement.all(...values) as unknown as SummedRow[]).map(sound)
  const within = (name: 'page' | 'everything' | 'keys') => (after: number, upTo: number, limit: number) =>
    rowsOf(statements[name], after, Math.min(upTo, Number.MAX_SAFE_INTEGER), limit)

  const numberOf = (statement: StatementSync, ...values: string[]): number =>
    (statement.all(...values) as unknown as (number | null)[][])[0]?.[0] ?? 0

  return {
    /** Position of the newest event, 0 in an empty log. */
    head: () => numberOf(statements.head),
    /** Rows of the log without keys, in its order: after one position, up to another, `limit` at most. */
    page: within('page'),
    /** All there is, keys of subjects included. */
    everything: within('everything'),
    /** The keys of subjects, erased ones as blanks. */
    keys: within('keys'),
    at: (position: number): StoredRow | undefined =>
      rowsOf(statements.everything, position - 1, position, 1)[0],
    /** The event at a revision of a stream. */
    find: (stream: string, revision: number): StoredRow | undefined =>
      rowsOf(statements.find, stream, revision)[0],
    close: () => db.close(),
  }
}

function open(file: string) {
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    requireLayout(db)
    const prepare = (sql: string): StatementSync => {
      const statement = db.prepare(sql)
      statement.setReturnArrays(true)
      return statement
    }
    const range = 'position > ? AND position <= ?'
    return {
      db,
      statements: {
        head: prepare('SELECT max(position) FROM event'),
        page: prepare(`${EVENTS} WHERE ${range} AND NOT ${IS_ERASABLE} ORDER BY position LIMIT ?`),
        everything: prepare(`${EVENTS} WHERE ${range} ORDER BY position LIMIT ?`),
        // Streams are looked up by their index: they are few in a log that is long.
        keys: prepare(
          `${EVENTS} INDEXED BY event_by_stream
           WHERE ${IS_ERASABLE} AND ${range} ORDER BY position LIMIT ?`,
        ),
        find: prepare(`${EVENTS} WHERE stream = ? AND revision = ?`),
      },
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (isDamage(error)) throw logDamaged(`${file}: ${reasonOf(error)}`, error)
    throw new ServiceError('store_unavailable', {
      message: `the log ${file} cannot be read: ${reasonOf(error)}`,
      cause: error,
    })
  }
}
