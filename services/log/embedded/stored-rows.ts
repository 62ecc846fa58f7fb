import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { requireLayout } from './schema.ts'
import { isDamage, logDamaged, reading } from './sqlite-errors.ts'

/**
 * One event as the file holds it: position, stream, revision, type, schema, id, when it was appended, data and meta. Data
 * and meta are JSON, or blanks where the event was erased.
 */
export type StoredRow = readonly [
  position: number,
  stream: string,
  revision: number,
  type: string,
  schema: number,
  id: string,
  at: string,
  data: string,
  meta: string,
]

const FIELDS = 9

/** Selects events with their checksums. */
export const EVENTS = 'SELECT position, stream, revision, type, schema, id, at, data, meta, sum FROM event'

/** A row as {@link EVENTS} selects it: last the checksum, null where the event was erased. */
export type SummedRow = [...StoredRow, sum: number | null]

/** CRC-32, which differs wherever no more than four neighbouring bytes changed. @param bytes of the data, if at hand */
export const sumOf = (
  [position, stream, revision, type, schema, id, at, data, meta]: StoredRow,
  bytes: Uint8Array | string = data,
): number => {
  const names = `${position}\t${stream}\t${revision}\t${type}\t${schema}\t${id}\t${at}\t`
  return crc32(`\t${meta}`, crc32(bytes, crc32(names)))
}

/** Takes the checksum off a row. @throws ServiceError `log_damaged` if the row is not what was written */
export function sound(row: SummedRow): StoredRow {
  const sum = row.pop()
  const event = row as unknown as StoredRow
  if (sum === null || sum === undefined || sum === sumOf(event)) return event
  const [position, stream, revision, , , id] = event
  throw logDamaged(
    `position ${position} (event ${id}, revision ${revision} of ${stream}) is not what was written`,
  )
}

/** The event of a row, its data and meta as they are. */
export function eventOf(row: StoredRow) {
  const [position, stream, revision, type, schema, id, at, data, meta] = row
  return { position: String(position), stream, revision, type, schema, id, at, data, meta }
}

/** Whether an event's data is what erasing leaves. */
export const isErasedData = (data: string): boolean => data.startsWith(' ')

/**
 * Events as lines, their fields parted by tabs. Nothing needs to be escaped: names hold no blanks, and JSON writes a tab
 * within a text as `\t`. The text of an event is the same wherever and whenever it is written.
 */
export const textOf = (rows: readonly StoredRow[]): string =>
  rows.map((row) => `${row.join('\t')}\n`).join('')

/**
 * Reads the lines that {@link textOf} wrote.
 * @throws TypeError for a line with other than nine fields, and for a last line without its end
 */
export function rowsOf(text: string): StoredRow[] {
  if (text === '') return []
  if (!text.endsWith('\n')) throw new TypeError('the last line is cut off')
  const lines = text.slice(0, -1).split('\n')
  return lines.map((line, index) => {
    const fields = line.split('\t')
    if (fields.length !== FIELDS) throw new TypeError(`line ${index + 1} has ${fields.length} fields`)
    const [position, stream = '', revision, type = '', schema, id = '', at = '', data = '', meta = ''] =
      fields
    return [Number(position), stream, Number(revision), type, Number(schema), id, at, data, meta]
  })
}

/** Streams named `subject-…`: the only ones that are ever erased. */
const IS_ERASABLE = "(stream >= 'subject-' AND stream < 'subject.')"
const RANGE = 'position > ? AND position <= ?'
const PAGE = 'ORDER BY position LIMIT ?'

/** Reads rows as arrays; each statement is prepared once. @throws ServiceError `store_unavailable`, `log_damaged` */
export function rowsIn(db: DatabaseSync) {
  const statements = new Map<string, StatementSync>()
  return (sql: string, ...values: (number | string)[]): unknown[] => {
    if (!db.isOpen) throw new ServiceError('store_unavailable', { message: 'the store is closed' })
    return reading(() => {
      const statement = statements.get(sql) ?? db.prepare(sql)
      statement.setReturnArrays(true)
      statements.set(sql, statement)
      return statement.all(...values)
    })
  }
}

/** A log file as it is, for copies of it. */
export type StoredRows = ReturnType<typeof openStoredRows>

/**
 * Reads the file of a log while its writer is at work, a page at a time, so that the writer is not held up. @throws
 * ServiceError `store_unavailable`, `log_damaged`
 */
export function openStoredRows(file: string) {
  const db = open(file)
  const all = rowsIn(db)
  const select = (where: string, ...values: (number | string)[]): StoredRow[] =>
    (all(`${EVENTS} ${where}`, ...values) as SummedRow[]).map(sound)
  const within =
    (where: string) =>
    (after: number, upTo: number, limit: number): StoredRow[] =>
      select(`${where} ${PAGE}`, after, Math.min(upTo, Number.MAX_SAFE_INTEGER), limit)
  const everything = within(`WHERE ${RANGE}`)
  return {
    head: (): number => (all('SELECT max(position) FROM event') as [[number | null]])[0][0] ?? 0,
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
