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

/** The event of a row, its data and meta as they are. */
export function eventOf(row: StoredRow) {
  const [position, stream, revision, type, schema, id, at, data, meta] = row
  return { position: String(position), stream, revision, type, schema, id, at, data, meta }
}

const FIELDS = 9

/**
 * Events as lines, their fields parted by tabs. Nothing needs to be escaped: names hold no blanks, and JSON writes a tab
 * within a text as `\t`. The text of an event is the same wherever and whenever it is written.
 */
export const textOf = (rows: readonly StoredRow[]): string =>
  rows.map((row) => row.join('\t')).join('\n') + (rows.length === 0 ? '' : '\n')

/** A row that has been parted at its tabs. */
export function rowOf(fields: readonly string[]): StoredRow {
  const [position, stream = '', revision, type = '', schema, id = '', at = '', data = '', meta = ''] = fields
  return [Number(position), stream, Number(revision), type, Number(schema), id, at, data, meta]
}

/**
 * Reads the lines that {@link textOf} wrote.
 * @throws TypeError for a line with other than nine fields, and for a last line without its end
 */
export function rowsOf(text: string): StoredRow[] {
  if (text === '') return []
  if (!text.endsWith('\n')) throw new TypeError('the last line is cut off')
  return text
    .slice(0, -1)
    .split('\n')
    .map((line, index) => {
      const fields = line.split('\t')
      if (fields.length !== FIELDS) throw new TypeError(`line ${index + 1} has ${fields.length} fields`)
      return rowOf(fields)
    })
}
