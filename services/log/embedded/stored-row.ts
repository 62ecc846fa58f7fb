import { crc32 } from 'node:zlib'
import { logDamaged } from './sqlite-errors.ts'

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
export const sumOf = (row: StoredRow, bytes: Uint8Array | string = row[7]): number =>
  crc32(`\t${row[8]}`, crc32(bytes, crc32(`${row.slice(0, 7).join('\t')}\t`)))

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
