import type { Json } from '../../../contracts/json.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { VERDICT_COLUMNS } from './verdict-columns.ts'

/** Characters gathered before they are handed on: a write per row would cost more than the row. */
const CHUNK_CHARACTERS = 65_536

/** One JSON object a line. */
export const encodeNdjson = (rows: AsyncIterable<VerdictRow>): AsyncGenerator<string, void, void> =>
  inChunks('', rows, (row) => `${JSON.stringify(row)}\n`)

/**
 * CSV after RFC 4180: a header, CRLF, quotes only where they are needed. Times are ISO 8601, numbers as JSON
 * writes them, factors and ranges JSON in one column, what there is not an empty field. Values are never altered to please a spreadsheet.
 */
export const encodeCsv = (rows: AsyncIterable<VerdictRow>): AsyncGenerator<string, void, void> =>
  inChunks(CSV_HEADER, rows, csvRow)

const CSV_HEADER = `${VERDICT_COLUMNS.map(({ name }) => name).join(',')}\r\n`

/** Null is an empty field; lists and objects are JSON. */
export const csvLine = (values: readonly Json[]): string => `${values.map(csvField).join(',')}\r\n`

const csvField = (value: Json): string => {
  if (value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`
  return quoted(typeof value === 'string' ? value : JSON.stringify(value))
}

/** As `csvLine`, without a list of the values: a replay writes millions of these. */
function csvRow(row: VerdictRow): string {
  let line = ''
  let separator = ''
  for (const { name } of VERDICT_COLUMNS) {
    line += separator + csvField(row[name])
    separator = ','
  }
  return `${line}\r\n`
}

/** RFC 4180 §2.6: fields with line breaks, quotes or commas are quoted; §2.7: a quote in them is doubled. */
const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** The first chunk comes with the first rows, so that a source that fails at once has written nothing. */
async function* inChunks(
  head: string,
  rows: AsyncIterable<VerdictRow>,
  lineOf: (row: VerdictRow) => string,
): AsyncGenerator<string, void, void> {
  let chunk = head
  for await (const row of rows) {
    chunk += lineOf(row)
    if (chunk.length < CHUNK_CHARACTERS) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}
