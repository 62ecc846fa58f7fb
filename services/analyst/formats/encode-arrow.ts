import { type FlatTable, flatBuffer, i8, i16, i32, i64, to } from './flat-buffer.ts'
import { asTexts, NULL, type Rows, type RowTexts, stringIn, valueOf } from './row-texts.ts'
import { type ColumnKind, VERDICT_COLUMNS } from './verdict-columns.ts'

/** Rows of a batch: they are in memory at a time, and a reader has them at once. */
const BATCH_ROWS = 2_000

/** Numbers of Arrow's metadata (Schema.fbs, Message.fbs). */
const VERSION_5 = 4
const HEADERS = { schema: 1, recordBatch: 3 } as const
const DOUBLE = 2
const MILLISECOND = 1
const CONTINUES = Buffer.from('ffffffff', 'hex')
const END_OF_STREAM = Buffer.from('ffffffff00000000', 'hex')

/** The number of a type, and what else is said of it. */
const TYPES: Readonly<Record<ColumnKind, readonly [number, FlatTable]>> = {
  text: [5, []],
  uuid: [5, []],
  json: [5, []],
  integer: [2, [i32(32), i8(1)]],
  number: [3, [i16(DOUBLE)]],
  instant: [10, [i16(MILLISECOND), to('UTC')]],
  boolean: [6, []],
}

/**
 * Apache Arrow's streaming format (IPC): a schema, and batches of 2,000 rows as they fill up. Times are UTC timestamps in
 * milliseconds; ids, factors and ranges are texts.
 */
export async function* encodeArrow(rows: Rows): AsyncGenerator<Uint8Array, void, void> {
  let head: Buffer | undefined = message(HEADERS.schema, schema(), [])
  let batch: RowTexts[] = []
  const written = (bytes: Uint8Array = arrowPage(batch)): Uint8Array => {
    const whole = head === undefined ? bytes : Buffer.concat([head, bytes])
    batch = []
    head = undefined
    return whole
  }
  for await (const row of rows) {
    const isWritten = row instanceof Uint8Array
    if (batch.length > 0 && (isWritten || batch.length === BATCH_ROWS)) yield written()
    if (isWritten) yield written(row)
    else batch.push(asTexts(row))
  }
  if (batch.length > 0) yield written()
  yield head === undefined ? END_OF_STREAM : Buffer.concat([head, END_OF_STREAM])
}

/** Endianness is the default, little; fields without children have an empty list of them. */
function schema(): FlatTable {
  const fields = VERDICT_COLUMNS.map(({ name, kind, isOptional }): FlatTable => {
    const [type, about] = TYPES[kind]
    return [to(name), i8(isOptional ? 1 : 0), i8(type), to(about), undefined, to({ items: [] })]
  })
  return [undefined, to({ items: fields }), to({ items: [[to('schema_version'), to('1')]] })]
}

/** One batch of rows. */
export function arrowPage(rows: readonly RowTexts[]): Uint8Array {
  const columns = VERDICT_COLUMNS.map(({ kind }, index) =>
    columnOf(
      kind,
      rows.map((row) => row[index] ?? NULL),
    ),
  )
  const parts = columns.flatMap(({ buffers }) => buffers)
  let offset = 0
  const places = parts.map(({ length }) => {
    const place = [offset, length] as const
    offset += padded(length)
    return place
  })
  const header = [
    i64(rows.length),
    to({ pairs: columns.map(({ nulls }) => [rows.length, nulls] as const) }),
    to({ pairs: places }),
  ]
  return message(HEADERS.recordBatch, header, parts)
}

/** How long the metadata is, the metadata, and the body, each a multiple of eight bytes. */
function message(kind: number, header: FlatTable, parts: readonly Uint8Array[]): Buffer<ArrayBuffer> {
  const bodyLength = parts.reduce((sum, { length }) => sum + padded(length), 0)
  const metadata = flatBuffer([i16(VERSION_5), i8(kind), to(header), i64(bodyLength)])
  const bytes = Buffer.alloc(8 + metadata.length + bodyLength)
  bytes.set(CONTINUES)
  bytes.writeInt32LE(metadata.length, 4)
  bytes.set(metadata, 8)
  let at = 8 + metadata.length
  for (const part of parts) {
    bytes.set(part, at)
    at += padded(part.length)
  }
  return bytes
}

const padded = (length: number): number => Math.ceil(length / 8) * 8

interface Column {
  readonly nulls: number
  /** Which rows have a value (nothing where all have), and the values; of texts where each ends, too. */
  readonly buffers: readonly Uint8Array[]
}

const NOTHING = new Uint8Array(0)

function columnOf(kind: ColumnKind, values: readonly Field[]): Column {
  const nulls = values.reduce<number>((count, value) => count + (value === NULL ? 1 : 0), 0)
  const validity = nulls === 0 ? NOTHING : bits(values, (value) => value !== NULL)
  return { nulls, buffers: [validity, ...valuesOf(kind, values)] }
}

function valuesOf(kind: ColumnKind, values: readonly Field[]): Uint8Array[] {
  switch (kind) {
    case 'integer':
      return [bytesOf(Int32Array.from(values, numberOf(kind)))]
    case 'number':
      return [bytesOf(Float64Array.from(values, numberOf(kind)))]
    case 'instant':
      return [bytesOf(BigInt64Array.from(values, (value) => BigInt(numberOf(kind)(value))))]
    case 'boolean':
      return [bits(values, (value) => value === 'true')]
    case 'json':
      return texts(values.map((value) => (value === NULL ? '' : String(value))))
    default:
      return texts(values.map((value) => stringIn(String(value))))
  }
}

type Field = RowTexts[number]

const numberOf =
  (kind: ColumnKind) =>
  (field: Field): number =>
    field === NULL ? 0 : Number(valueOf(field, kind))

/** As the machine has them, which is little-endian wherever Node.js runs. */
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** The first value is the lowest bit. */
function bits(values: readonly Field[], isSet: (value: Field) => boolean): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8))
  for (const [index, value] of values.entries())
    if (isSet(value)) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7))
  return bytes
}

function texts(values: readonly string[]): Uint8Array[] {
  const ends = new Int32Array(values.length + 1)
  for (const [index, { length }] of values.entries()) ends[index + 1] = (ends[index] ?? 0) + length
  return [bytesOf(ends), Buffer.from(values.join(''), 'latin1')]
}
