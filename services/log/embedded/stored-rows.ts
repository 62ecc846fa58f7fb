import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { requireLayout } from './schema.ts'
import { isDamage, logDamaged, reading } from './sqlite-errors.ts'
import { EVENTS, type StoredRow, type SummedRow, sound } from './stored-row.ts'

/** Streams named `subject-…`: the only ones that are ever erased. */
const IS_ERASABLE = "(stream >= 'subject-' AND stream < 'subject.')"
const RANGE = 'position > ? AND position <= ?'
const PAGE = 'ORDER BY position LIMIT ?'

/** A log file as it is, for copies of it. */
export type StoredRows = ReturnType<typeof openStoredRows>

/**
 * Reads the file of a log while its writer is at work, a page at a time, so that the writer is not held up. @throws
 * ServiceError `store_unavailable`, `log_damaged`
 */
export function openStoredRows(file: string) {
  const db = open(file)
  const statements = new Map<string, StatementSync>()
  function all<Row>(sql: string, values: readonly (number | string)[]): Row[] {
    const statement = statements.get(sql) ?? db.prepare(sql)
    statement.setReturnArrays(true)
    statements.set(sql, statement)
    return reading(() => statement.all(...values) as Row[])
  }
  const select = (where: string, ...values: (number | string)[]): StoredRow[] =>
    all<SummedRow>(`${EVENTS} ${where}`, values).map(sound)
  const within =
    (where: string) =>
    (after: number, upTo: number, limit: number): StoredRow[] =>
      select(`${where} ${PAGE}`, after, Math.min(upTo, Number.MAX_SAFE_INTEGER), limit)
  const everything = within(`WHERE ${RANGE}`)
  return {
    /** Position of the newest event, 0 in an empty log. */
    head: (): number => all<[number | null]>('SELECT max(position) FROM event', [])[0]?.[0] ?? 0,
    /** Rows of the log without keys, in its order: after one position, up to another, `limit` at most. */
    page: within(`WHERE ${RANGE} AND NOT ${IS_ERASABLE}`),
    /** All there is, keys of subjects included. */
    everything,
    /** The keys of subjects, erased ones as blanks: found by the index, since they are few in a log that is long. */
    keys: within(`INDEXED BY event_by_stream WHERE ${IS_ERASABLE} AND ${RANGE}`),
    at: (position: number): StoredRow | undefined => everything(position - 1, position, 1)[0],
    /** The event at a revision of a stream. */
    find: (stream: string, revision: number): StoredRow | undefined =>
      select('WHERE stream = ? AND revision = ?', stream, revision)[0],
    close: () => db.close(),
  }
}

function open(file: string): DatabaseSync {
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    requireLayout(db)
    db.prepare(EVENTS)
    return db
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (isDamage(error)) throw logDamaged(`${file}: ${reasonOf(error)}`, error)
    throw new ServiceError('store_unavailable', {
      message: `the log ${file} cannot be read: ${reasonOf(error)}`,
      cause: error,
    })
  }
}
