import { isoTime } from '../../../contracts/iso-time.ts'
import type { Json } from '../../../contracts/json.ts'
import { fromLatin1 } from '../../../contracts/latin1.ts'
import { asTexts, fieldOf, NULL, objectOf, type Rows, type RowTexts, stringIn } from './row-texts.ts'
import { VERDICT_COLUMNS } from './verdict-columns.ts'

/** Characters gathered before they are handed on: a write per row would cost more than the row. */
const CHUNK_CHARACTERS = 98_304

/** One JSON object a line. */
export const NDJSON = linesOf('', (row) => `${objectOf(row)}\n`)

/**
 * CSV after RFC 4180: a header, CRLF, quotes only where they are needed. Times are ISO 8601, numbers as JSON
 * writes them, factors and ranges JSON in one column, what there is not an empty field. Values are never altered to please a spreadsheet.
 */
export const CSV = linesOf(`${VERDICT_COLUMNS.map(({ name }) => name).join(',')}\r\n`, csvRow)

/** Null is an empty field; lists and objects are JSON. */
export const csvLine = (values: readonly Json[]): string => fromLatin1(csvRow(values.map(fieldOf)))

function csvRow(row: RowTexts): string {
  let line = ''
  for (let index = 0; index < row.length; index++) {
    const field = row[index] ?? NULL
    if (index > 0) line += ','
    if (typeof field === 'number') line += isoTime(field)
    else if (field.startsWith('"')) line += quoted(stringIn(field))
    else if (field !== NULL) line += quoted(field)
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
    // One by one, while the processor's cache has the row: quicker by a fifth than a text of all.
    write: (rows: readonly RowTexts[]): Uint8Array =>
      Buffer.concat(rows.map((row) => Buffer.from(lineOf(row), 'latin1'))),
    async *encode(rows: Rows): AsyncGenerator<Uint8Array, void, void> {
      let chunk = head
      for await (const row of rows) {
        const isWritten = row instanceof Uint8Array
        if (!isWritten) chunk += lineOf(asTexts(row))
        if (!isWritten && chunk.length < CHUNK_CHARACTERS) continue
        if (chunk !== '') yield Buffer.from(chunk, 'latin1')
        chunk = ''
        if (isWritten) yield row
      }
      if (chunk !== '') yield Buffer.from(chunk, 'latin1')
    },
  }
}
