import { ServiceError } from '../../../contracts/errors/errors.ts'
import { readChunks } from './read-chunks.ts'

/** Rows of numbers, one after another, in the order of the columns that were asked for. */
export interface RowBlock {
  readonly rows: Float64Array
  readonly count: number
}

/** Why a row cannot be, and in which column; undefined where it can. It may put a number into another unit. */
export type RowCheck = (rows: Float64Array, offset: number) => { column: string; fault: string } | undefined

/** Which further headers a file may have. */
export interface HeaderRules {
  /** Other names of columns. */
  readonly names?: Readonly<Record<string, string>>
  /** Columns that a file may lack: their number is 0 there. */
  readonly optional?: readonly string[]
  /** Columns that are not read. */
  readonly ignored?: readonly string[]
  /** The columns of a file that has as many and begins with numbers, without a header. */
  readonly withoutHeader?: readonly string[]
}

/** Longest line; past it a file without line ends would be gathered in memory. */
const LINE_BYTES = 1_024

const NEWLINE = 10
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/**
 * The rows of a CSV file, packed with gzip or zip where its name ends so, a block at a time. The header names the
 * columns, which may stand in any order. Windows line ends and empty lines are accepted. Messages count rows as
 * lines of the file, so the header is row 1.
 *
 * @param name how messages call the file
 * @throws ServiceError `market_data_damaged` naming file, row and column; `market_data_missing` for a file that
 *   cannot be opened.
 */
export async function* readRows(
  path: string,
  name: string,
  columns: readonly string[],
  check: RowCheck,
  rules: HeaderRules = {},
): AsyncGenerator<RowBlock, void, undefined> {
  let context: BlockContext | undefined
  let start = 0
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of readChunks(path, name)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(NEWLINE) + 1
    rest = bytes.subarray(end)
    if (rest.length > LINE_BYTES) {
      const fault = `the line is longer than ${LINE_BYTES} bytes; this is not a CSV file of market data`
      throw damagedError(name, (context?.row ?? 0) + 1, `: ${fault}`)
    }
    if (end === 0) continue
    start = 0
    if (context === undefined) ({ context, start } = begin(bytes, { name, columns, check, rules }))
    yield parseLines(bytes.subarray(start, end), context)
  }
  start = 0
  if (context === undefined) ({ context, start } = begin(rest, { name, columns, check, rules }))
  // The last line may lack its line end.
  if (rest.length > start)
    yield parseLines(Buffer.concat([rest.subarray(start), Buffer.of(NEWLINE)]), context)
}

type TableTerms = Pick<BlockContext, 'name' | 'columns' | 'check'> & { readonly rules: HeaderRules }

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** Reads the first line, and says where the first row begins. */
function begin(bytes: Buffer, { name, columns, check, rules }: TableTerms) {
  const mark = bytes.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0
  const lineEnd = bytes.indexOf(NEWLINE) + 1 || bytes.length
  const cells = bytes
    .toString('utf8', mark, lineEnd)
    .trimEnd()
    .split(',')
    .map((cell) => cell.trim())
  const { withoutHeader } = rules
  const isBare = NUMBER.test(cells[0] ?? '') && cells.length === withoutHeader?.length
  const header = isBare ? withoutHeader : cells
  const order = readHeader(header, name, columns, rules)
  const context: BlockContext = { name, columns, header, order, check, row: isBare ? 0 : 1 }
  return { context, start: isBare ? mark : lineEnd }
}

/** Characters of a faulty header that a message shows. */
const HEADER_IN_MESSAGE = 200

/** The place of a column that is left out. */
const IGNORED = -1

function readHeader(
  header: readonly string[],
  name: string,
  columns: readonly string[],
  { names = {}, optional = [], ignored = [] }: HeaderRules,
): number[] {
  const found = header.map((column) => names[column] ?? column)
  const required = columns.filter((column) => !optional.includes(column))
  const damaged = (fault: string, column: string) =>
    damagedError(
      name,
      1,
      `: ${fault}; the header must name ${required.join(',')}, and it names ${JSON.stringify(header.join(',').slice(0, HEADER_IN_MESSAGE))}`,
      column,
    )
  const missing = required.find((column) => !found.includes(column))
  if (missing !== undefined) throw damaged(`column "${missing}" is missing`, missing)
  const unknown = found.findIndex(
    (column, index) =>
      !(columns.includes(column) || ignored.includes(column)) || found.indexOf(column) !== index,
  )
  const column = header[unknown]
  if (column !== undefined) throw damaged(`column "${column}" is not known or stands there twice`, column)
  return found.map((one) => columns.indexOf(one))
}

interface BlockContext {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of the file as it calls them. */
  readonly header: readonly string[]
  /** For each of them, the place of its number in a row. */
  readonly order: readonly number[]
  readonly check: RowCheck
  /** The line of the file that was read last. */
  row: number
}

/** Parses whole lines; `bytes` ends with a line end. */
function parseLines(bytes: Buffer, context: BlockContext): RowBlock {
  const { columns, check } = context
  const width = columns.length
  const lines = bytes.toString('latin1').split('\n').slice(0, -1)
  const rows = new Float64Array(lines.length * width)
  let count = 0
  for (const line of lines) {
    context.row++
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    if (text === '') continue
    parseLine(text, rows, count * width, context)
    const fault = check(rows, count * width)
    if (fault !== undefined) {
      const place = columns.indexOf(fault.column)
      const column = context.header[context.order.indexOf(place)] ?? fault.column
      throw damagedCellError(context, column, String(rows[count * width + place]), fault.fault)
    }
    count++
  }
  return { rows: rows.subarray(0, count * width), count }
}

function parseLine(line: string, rows: Float64Array, offset: number, context: BlockContext): void {
  const { header, order } = context
  const cells = line.split(',')
  for (const [index, text] of cells.entries()) {
    const place = order[index]
    if (place === undefined) throw damagedCellError(context, `number ${index + 1}`, text, 'has no header')
    if (place === IGNORED) continue
    if (!NUMBER.test(text)) {
      const fault = text === '' ? 'is empty' : 'is not a number'
      throw damagedCellError(context, header[index] as string, text, fault)
    }
    rows[offset + place] = Number(text)
  }
  const absent = header[cells.length]
  if (absent === undefined) return
  const fault = `is missing: the row has ${cells.length} of ${header.length} cells`
  throw damagedCellError(context, absent, '', fault)
}

const damagedCellError = ({ name, row }: BlockContext, column: string, text: string, fault: string) =>
  damagedError(
    name,
    row,
    `, column ${column}: "${text.slice(0, 40)}" ${fault}; correct the cell or delete the row`,
    column,
  )

const damagedError = (file: string, row: number, rest: string, column?: string): ServiceError =>
  new ServiceError('market_data_damaged', {
    message: `${file}, row ${row}${rest}`,
    details: { file, row, ...(column !== undefined && { column }) },
  })
