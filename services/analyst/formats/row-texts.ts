import { isoTime } from '../../../contracts/iso-time.ts'
import type { Json } from '../../../contracts/json.ts'
import { fromLatin1, toLatin1 } from '../../../contracts/latin1.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { type ColumnKind, VERDICT_COLUMNS } from './verdict-columns.ts'

/**
 * The fields of a row in the order of the columns: JSON, most of it as the log has it, a character for each byte; or an
 * instant in Unix milliseconds.
 */
export type RowTexts = readonly (string | number)[]

/** Rows on their way into a format, some of them in its bytes. */
export type Rows = AsyncIterable<VerdictRow | RowTexts | Uint8Array>

export const NULL = 'null'

const NAMES = VERDICT_COLUMNS.map(({ name }, index) => `${index === 0 ? '{' : ','}"${name}":`)

export const asTexts = (row: VerdictRow | RowTexts): RowTexts => ('cursor' in row ? textsOf(row) : row)

export const textsOf = (row: VerdictRow): RowTexts => VERDICT_COLUMNS.map(({ name }) => fieldOf(row[name]))

export const fieldOf = (value: Json): string => toLatin1(JSON.stringify(value))

export const cursorOf = ([cursor]: RowTexts): string => String(cursor).slice(1, -1)

/** The bytes of the row as one JSON object. */
export function objectOf(row: RowTexts): string {
  let line = ''
  for (let index = 0; index < NAMES.length; index++) {
    const field = row[index] ?? NULL
    line += NAMES[index] + (typeof field === 'number' ? `"${isoTime(field)}"` : field)
  }
  return `${line}}`
}

export const jsonOf = (row: RowTexts): string => fromLatin1(objectOf(row))

export const rowOf = (row: RowTexts): VerdictRow => JSON.parse(jsonOf(row)) as VerdictRow

/** The bytes of a JSON string. */
export const stringIn = (json: string): string =>
  json.includes('\\') ? toLatin1(JSON.parse(fromLatin1(json)) as string) : json.slice(1, -1)

/** The value of a field that is not null; an instant in Unix milliseconds. */
export function valueOf(field: string | number, kind: ColumnKind): string | number | boolean {
  if (typeof field === 'number') return field
  if (kind === 'boolean') return field === 'true'
  if (!field.startsWith('"')) return Number(field)
  return kind === 'instant' ? Date.parse(stringIn(field)) : fromLatin1(stringIn(field))
}
