import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type ErrorCode, ServiceError } from '../../../contracts/errors.ts'
import { parseDecimal } from './parse-decimal.ts'

/** Rows of numbers, one after another, in the order of the columns that were asked for. */
export interface RowBlock {
  readonly rows: Float64Array
  readonly count: number
}

/** Why a row cannot be, and in which column; undefined where it can. */
export type RowCheck = (rows: Float64Array, offset: number) => { column: string; fault: string } | undefined

/** Columns beyond those that must be there and say something. */
export interface OtherColumns {
  /** May be there, and are left out. */
  readonly ignored?: readonly string[]
  /** Requested columns that may be empty, which reads as NaN. */
  readonly mayBeEmpty?: readonly string[]
}

/** Bytes read and unpacked at a time: what an open file costs in memory, a few times over. */
const CHUNK_BYTES = 262_144

/** Longest line; past it a file without line ends would be gathered in memory. */
const LINE_BYTES = 1_024

const NEWLINE = 10
const CARRIAGE_RETURN = 13
const COMMA = 44

/**
 * The rows of a CSV file, packed with gzip where its name ends so, a block at a time. The header names the
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
  others: OtherColumns = {},
): AsyncGenerator<RowBlock, void, undefined> {
  let context: BlockContext | undefined
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunksOf(path, name)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(NEWLINE) + 1
    rest = bytes.subarray(end)
    if (rest.length > LINE_BYTES) throw endlessLineError(name, context?.row ?? 0)
    if (end === 0) continue
    let start = 0
    if (context === undefined) {
      start = bytes.indexOf(NEWLINE) + 1
      context = begin(bytes.toString('utf8', 0, start), name, columns, check, others)
    }
    yield parseLines(bytes.subarray(start, end), context)
  }
  const hasHeader = context !== undefined
  context ??= begin(rest.toString('utf8'), name, columns, check, others)
  // The last line may lack its line end.
  if (hasHeader && rest.length > 0) yield parseLines(Buffer.concat([rest, Buffer.of(NEWLINE)]), context)
}

const begin = (
  header: string,
  name: string,
  columns: readonly string[],
  check: RowCheck,
  { ignored = [], mayBeEmpty = [] }: OtherColumns,
): BlockContext => ({
  name,
  columns,
  order: readHeader(header, name, columns, ignored),
  mayBeEmpty: new Set(mayBeEmpty.map((column) => columns.indexOf(column))),
  check,
  row: 1,
  scratch: new Float64Array(),
})

const endlessLineError = (name: string, row: number): ServiceError =>
  new ServiceError('market_data_damaged', {
    message: `${name}, row ${row + 1}: the line is longer than ${LINE_BYTES} bytes; this is not a CSV file of market data`,
    details: { file: name, row: row + 1 },
  })

async function* chunksOf(path: string, name: string): AsyncGenerator<Buffer, void, undefined> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  // The pipeline hands an error of either stream to the iterating loop, so its own callback has nothing to do.
  const source = path.endsWith('.gz')
    ? pipeline(file, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined)
    : file
  try {
    for await (const chunk of source) yield chunk as Buffer
  } catch (error) {
    throw unreadableError(name, error as NodeJS.ErrnoException)
  } finally {
    file.destroy()
  }
}

function unreadableError(name: string, error: NodeJS.ErrnoException): ServiceError {
  const { code, message } = error
  if (code === 'Z_BUF_ERROR') {
    return unreadableFileError(
      'market_data_damaged',
      name,
      'the gzip data ends too early; the file was cut off, so copy it again',
      error,
    )
  }
  if (code === 'Z_DATA_ERROR') {
    const hint = 'copy the file again, or name it .csv if it is not packed'
    return unreadableFileError(
      'market_data_damaged',
      name,
      `this is not sound gzip data (${message}); ${hint}`,
      error,
    )
  }
  return unreadableFileError('market_data_missing', name, `the file cannot be read (${message})`, error)
}

const unreadableFileError = (code: ErrorCode, name: string, fault: string, cause: Error): ServiceError =>
  new ServiceError(code, { message: `${name}: ${fault}`, details: { file: name }, cause })

/** Characters of a faulty header that a message shows. */
const HEADER_IN_MESSAGE = 200

/** The place of a column that is left out. */
const IGNORED = -1

function readHeader(
  line: string,
  name: string,
  columns: readonly string[],
  ignored: readonly string[],
): number[] {
  const found = line
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split(',')
    .map((column) => column.trim())
  const expected = `the header must name ${columns.join(',')}`
  const damaged = (fault: string, column: string) =>
    new ServiceError('market_data_damaged', {
      message: `${name}, row 1: ${fault}; ${expected}, and it names ${JSON.stringify(found.join(',').slice(0, HEADER_IN_MESSAGE))}`,
      details: { file: name, row: 1, column },
    })
  const missing = columns.find((column) => !found.includes(column))
  if (missing !== undefined) throw damaged(`column "${missing}" is missing`, missing)
  const unknown = found.find(
    (column, index) =>
      !(columns.includes(column) || ignored.includes(column)) || found.indexOf(column) !== index,
  )
  if (unknown !== undefined) throw damaged(`column "${unknown}" is not known or stands there twice`, unknown)
  return found.map((column) => columns.indexOf(column))
}

interface BlockContext {
  readonly name: string
  readonly columns: readonly string[]
  /** For each column of the file, the place of its number in a row. */
  readonly order: readonly number[]
  readonly mayBeEmpty: ReadonlySet<number>
  readonly check: RowCheck
  /** The line of the file that was read last. */
  row: number
  /** Buffer in which a block is parsed before its numbers are copied out, reused for each block. */
  scratch: Float64Array
}

/** Parses whole lines; `bytes` ends with a line end. */
function parseLines(bytes: Buffer, context: BlockContext): RowBlock {
  const { columns, check } = context
  const width = columns.length
  // No row is shorter than a digit and a separator for each of its columns.
  const mostNumbers = Math.ceil(bytes.length / 2) + width
  if (context.scratch.length < mostNumbers) context.scratch = new Float64Array(mostNumbers)
  const rows = context.scratch
  let count = 0
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start)
    const lineEnd = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    context.row++
    if (lineEnd > start) {
      parseLine(bytes, start, lineEnd, rows, count * width, context)
      const fault = check(rows, count * width)
      if (fault !== undefined) {
        const value = String(rows[count * width + columns.indexOf(fault.column)])
        throw damagedCellError(context, fault.column, value, fault.fault)
      }
      count++
    }
    start = end + 1
  }
  return { rows: rows.slice(0, count * width), count }
}

function parseLine(
  bytes: Buffer,
  start: number,
  end: number,
  rows: Float64Array,
  offset: number,
  context: BlockContext,
): void {
  const { columns, order, mayBeEmpty } = context
  let cellStart = start
  let cell = 0
  for (let at = start; at <= end; at++) {
    if (at < end && bytes[at] !== COMMA) continue
    const place = order[cell]
    if (place === undefined) {
      throw damagedCellError(
        context,
        `number ${cell + 1}`,
        bytes.toString('utf8', cellStart, at),
        'has no header',
      )
    }
    const isOmitted = place === IGNORED || (at === cellStart && mayBeEmpty.has(place))
    const value = isOmitted ? Number.NaN : parseDecimal(bytes, cellStart, at)
    if (Number.isNaN(value) && !isOmitted) {
      const text = bytes.toString('utf8', cellStart, at)
      throw damagedCellError(
        context,
        columns[place] as string,
        text,
        text === '' ? 'is empty' : 'is not a number',
      )
    }
    if (place !== IGNORED) rows[offset + place] = value
    cellStart = at + 1
    cell++
  }
  const absent = order[cell]
  if (absent !== undefined) {
    throw damagedCellError(
      context,
      columns[absent] as string,
      '',
      `is missing: the row has ${cell} of ${columns.length} cells`,
    )
  }
}

const damagedCellError = (
  { name, row }: BlockContext,
  column: string,
  text: string,
  fault: string,
): ServiceError =>
  new ServiceError('market_data_damaged', {
    message: `${name}, row ${row}, column ${column}: "${text.slice(0, 40)}" ${fault}; correct the cell or delete the row`,
    details: { file: name, row, column },
  })
