import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type ErrorCode, ServiceError } from '../../../contracts/errors.ts'

/** Rows of numbers, one after another, in the order of the columns that were asked for. */
export interface RowBlock {
  readonly rows: Float64Array
  readonly count: number
}

/** Why a row cannot be, and in which column; undefined where it can. */
export type RowCheck = (rows: Float64Array, offset: number) => { column: string; fault: string } | undefined

/** Bytes read and unpacked at a time: what an open file costs in memory, a few times over. */
const CHUNK_BYTES = 262_144

/** Longest line; past it a file without line ends would be gathered in memory. */
const LINE_BYTES = 1_024

const NEWLINE = 10
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

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
  ignored: readonly string[] = [],
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
      context = begin(bytes.toString('utf8', 0, start), name, columns, check, ignored)
    }
    yield parseLines(bytes.subarray(start, end), context)
  }
  const hasHeader = context !== undefined
  context ??= begin(rest.toString('utf8'), name, columns, check, ignored)
  // The last line may lack its line end.
  if (hasHeader && rest.length > 0) yield parseLines(Buffer.concat([rest, Buffer.of(NEWLINE)]), context)
}

const begin = (
  header: string,
  name: string,
  columns: readonly string[],
  check: RowCheck,
  ignored: readonly string[],
): BlockContext => ({
  name,
  columns,
  order: readHeader(header, name, columns, ignored),
  check,
  row: 1,
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
  const [refusal, fault]: [ErrorCode, string] =
    code === 'Z_BUF_ERROR'
      ? ['market_data_damaged', 'the gzip data ends too early; the file was cut off, so copy it again']
      : code === 'Z_DATA_ERROR'
        ? [
            'market_data_damaged',
            `this is not sound gzip data (${message}); copy the file again, or name it .csv if it is not packed`,
          ]
        : ['market_data_missing', `the file cannot be read (${message})`]
  return new ServiceError(refusal, { message: `${name}: ${fault}`, details: { file: name }, cause: error })
}

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
      const value = String(rows[count * width + columns.indexOf(fault.column)])
      throw damagedCellError(context, fault.column, value, fault.fault)
    }
    count++
  }
  return { rows: rows.subarray(0, count * width), count }
}

function parseLine(line: string, rows: Float64Array, offset: number, context: BlockContext): void {
  const { columns, order } = context
  const cells = line.split(',')
  for (const [index, text] of cells.entries()) {
    const place = order[index]
    if (place === undefined) throw damagedCellError(context, `number ${index + 1}`, text, 'has no header')
    if (place === IGNORED) continue
    if (!NUMBER.test(text)) {
      const fault = text === '' ? 'is empty' : 'is not a number'
      throw damagedCellError(context, columns[place] as string, text, fault)
    }
    rows[offset + place] = Number(text)
  }
  const absent = order[cells.length]
  if (absent === undefined) return
  const fault = `is missing: the row has ${cells.length} of ${columns.length} cells`
  throw damagedCellError(context, columns[absent] as string, '', fault)
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
