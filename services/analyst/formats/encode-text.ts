import { isoTime } from '../../../contracts/iso-time.ts'
import type { Json } from '../../../contracts/json.ts'
import { asTexts, jsonOf, NULL, type Rows, type RowTexts, stringIn } from './row-texts.ts'
import { VERDICT_COLUMNS } from './verdict-columns.ts'

/** Characters gathered before they are handed on: a write per row would cost more than the row. */
const CHUNK_CHARACTERS = 98_304

/** One JSON object a line. */
export const NDJSON = linesOf('', (row) => `${jsonOf(row)}\n`)

/**
 * CSV after RFC 4180: a header, CRLF, quotes only where they are needed. Times are ISO 8601, numbers as JSON
 * writes them, factors and ranges JSON in one column, what there is not an empty field. Values are never altered to please a spreadsheet.
 */
export const CSV = linesOf(`${VERDICT_COLUMNS.map(({ name }) => name).join(',')}\r\n`, csvRow)

/** Null is an empty field; lists and objects are JSON. */
export const csvLine = (values: readonly Json[]): string => `${values.map(csvField).join(',')}\r\n`

const csvField = (value: Json): string => {
  if (value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`
  return quoted(typeof value === 'string' ? value : JSON.stringify(value))
}

/** As `csvLine`, without a list of the values: a replay writes millions of these. */
function csvRow(row: RowTexts): string {
  let line = ''
  for (const [index, { kind }] of VERDICT_COLUMNS.entries()) {
    const field = row[index] ?? NULL
    if (index > 0) line += ','
    if (field === NULL) continue
    if (typeof field === 'number') line += isoTime(field)
    else if (kind === 'json') line += quoted(field)
    else line += field.startsWith('"') ? quoted(stringIn(field)) : field
  }
  return `${line}\r\n`
}

/** RFC 4180 §2.6: fields with line breaks, quotes or commas are quoted; §2.7: a quote in them is doubled. */
function quoted(text: string): string {
  if (!/[",\r\n]/.test(text)) return text
  let field = '"'
  let from = 0
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', from)) {
    field += `${text.slice(from, at + 1)}"`
    from = at + 1
  }
  return `${field}${text.slice(from)}"`
}

/** Rows as lines. The first chunk comes with the first rows, so that a source that fails at once has written nothing. */
function linesOf(head: string, lineOf: (row: RowTexts) => string) {
  return {
    write: (rows: readonly RowTexts[]): Uint8Array => Buffer.from(rows.map(lineOf).join('')),
    async *encode(rows: Rows): AsyncGenerator<Uint8Array, void, void> {
      let chunk = head
      for await (const row of rows) {
        const isWritten = row instanceof Uint8Array
        if (!isWritten) chunk += lineOf(asTexts(row))
        if (!isWritten && chunk.length < CHUNK_CHARACTERS) continue
        if (chunk !== '') yield Buffer.from(chunk)
        chunk = ''
        if (isWritten) yield row
      }
      if (chunk !== '') yield Buffer.from(chunk)
    },
  }
}
