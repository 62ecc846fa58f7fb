import type { VerdictRow } from '../../../contracts/answers/verdict-row.ts'
import type { Json, JsonObject } from '../../../contracts/infra/json.ts'
import { VERDICT_COLUMNS } from './verdict-columns.ts'

/** Characters gathered before they are handed on: a write per row would cost more than the row. */
const CHUNK_CHARACTERS = 196_608

/** One JSON object a line. */
export const encodeNdjson = linesOf('', (row) => `${JSON.stringify(row)}\n`)

/**
 * CSV after RFC 4180: a header, CRLF, quotes only where they are needed. Times are ISO 8601, numbers as JSON
 * writes them, factors and ranges JSON in one column, null an empty field. Values are never altered to please a
 * spreadsheet.
 */
export const encodeCsv = linesOf(csvLine(VERDICT_COLUMNS.map(({ name }) => name)), (row) =>
  csvLine(VERDICT_COLUMNS.map(({ name }) => (row as JsonObject)[name] ?? null)),
)

/** Null is an empty field; lists and objects are JSON. */
export function csvLine(values: readonly Json[]): string {
  return `${values.map(csvField).join(',')}\r\n`
}

/** RFC 4180 §2.6: fields with line breaks, quotes or commas are quoted; §2.7: a quote in them is doubled. */
function csvField(value: Json): string {
  if (value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Rows as lines. The first chunk comes with the first rows, so that a source that fails at once has written nothing. */
function linesOf(head: string, lineOf: (row: VerdictRow) => string) {
  return async function* encode(rows: AsyncIterable<VerdictRow>): AsyncGenerator<Uint8Array, void, void> {
    let chunk = head
    for await (const row of rows) {
      chunk += lineOf(row)
      if (chunk.length < CHUNK_CHARACTERS) continue
      yield Buffer.from(chunk)
      chunk = ''
    }
    if (chunk !== '') yield Buffer.from(chunk)
  }
}
