import { deserialize, serialize } from 'node:v8'
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { asTexts, NULL, type Rows, type RowTexts, valueOf } from './row-texts.ts'
import { type Column, type ColumnKind, VERDICT_COLUMNS } from './verdict-columns.ts'

/** Rows held in memory at a time, 3 MB of them: encoding a group keeps everybody else waiting for 40 ms. */
const ROW_GROUP_ROWS = 2_000

/** A file of rows that is written as they come: no more of them than a row group is held. */
export interface RowEncoder<Row> {
  add(row: Row): Promise<void>
  /** Resolves when every byte was given away. */
  finish(): Promise<void>
}

/** Places of the parts of groups in a file, with their statistics. */
type Places = Pick<ParquetWriter, 'row_groups' | 'pendingIndexes'>

/** In front of the first group of a file, and in a page in front of the places: how many bytes they have. */
const HEAD_BYTES = 4

/** Takes bytes of a file in their order; it may keep nothing of them. */
export type TakeBytes = (bytes: Uint8Array) => void

type ParquetType = Omit<SchemaElement, 'name'>

const TYPES: Readonly<Record<ColumnKind, ParquetType>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  uuid: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
  integer: { type: 'INT32' },
  number: { type: 'DOUBLE' },
  // The converted type alone leaves the zone to the reader, and some take the one of the machine.
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  boolean: { type: 'BOOLEAN' },
  json: { type: 'BYTE_ARRAY' },
}

/** Gives away what was written at the end of each row group. */
class FlushedWriter extends ByteWriter {
  readonly #take: TakeBytes
  constructor(take: TakeBytes) {
    super()
    this.#take = take
  }

  flush(): void {
    this.#take(this.getBytes())
    this.index = 0
  }

  override finish(): void {
    this.flush()
  }
}

/**
 * Apache Parquet with typed columns: times as UTC timestamps in milliseconds, ids as UUIDs, factors and ranges as JSON.
 *
 * @param instant how times are written; a former release had another type
 */
export function parquetEncoder(
  take: TakeBytes,
  columns: readonly Column[],
  {
    groupRows,
    instant = TYPES.instant,
    ...settings
  }: { readonly groupRows: number; readonly instant?: ParquetType } & Omit<
    ConstructorParameters<typeof ParquetWriter>[0],
    'writer' | 'schema' | 'createdBy'
  >,
) {
  const fields = columns.map(
    ({ name, kind, isOptional }): SchemaElement => ({
      name,
      repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED',
      ...(kind === 'instant' ? instant : TYPES[kind]),
    }),
  )
  // The writer would parse and write them again if it knew before its end that they are JSON.
  const texts = new Set(columns.filter(({ kind }) => kind === 'json').map(({ name }) => name))
  const schema: SchemaElement[] = [{ name: 'verdict', num_children: columns.length }, ...fields]
  const bytes = new FlushedWriter(take)
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'signal-service', ...settings })
  let group: RowTexts[] = []

  async function writeGroup(): Promise<void> {
    const columnData = columns.map(({ name, kind }, index) => ({
      name,
      data: group.map((row) => storedOf(row[index] ?? NULL, kind)),
    }))
    group = []
    await writer.write({ columnData, rowGroupSize: groupRows })
    // Other work of the process runs between two groups.
    await new Promise(setImmediate)
  }

  return {
    async add(row: RowTexts): Promise<void> {
      if (group.push(row) === groupRows) await writeGroup()
    },
    /** Adds rows that {@link parquetPage} wrote, as a group of their own. @returns what follows then in the file */
    async addPage(page: Uint8Array): Promise<Uint8Array> {
      if (group.length > 0) await writeGroup()
      const from = HEAD_BYTES + Buffer.from(page.buffer, page.byteOffset).readUInt32LE()
      // A copy: the statistics are views of it, and they are held until the end of the file.
      const { row_groups, pendingIndexes } = deserialize(
        new Uint8Array(page.subarray(HEAD_BYTES, from)),
      ) as Places
      const by = BigInt(bytes.offset - HEAD_BYTES)
      for (const { chunk, offsetIndex } of pendingIndexes) {
        chunk.file_offset += by
        const { meta_data: about } = chunk
        if (about !== undefined) about.data_page_offset += by
        if (about?.dictionary_page_offset !== undefined) about.dictionary_page_offset += by
        for (const place of offsetIndex?.page_locations ?? []) place.offset += by
      }
      for (const { num_rows } of row_groups) writer.num_rows += num_rows
      writer.row_groups.push(...row_groups)
      writer.pendingIndexes.push(...pendingIndexes)
      bytes.flush()
      const file = page.subarray(from + HEAD_BYTES)
      bytes.offset += file.length
      return file
    },
    places: (): Places => ({ row_groups: writer.row_groups, pendingIndexes: writer.pendingIndexes }),
    async finish(): Promise<void> {
      if (group.length > 0) await writeGroup()
      for (const field of schema) if (texts.has(field.name)) field.converted_type = 'JSON'
      await writer.finish()
    },
  }
}

/** A value in the form that the writer takes without converting it. */
function storedOf(field: string | number, kind: ColumnKind): unknown {
  if (field === NULL) return null
  if (kind === 'json') return Buffer.from(String(field), 'latin1')
  const value = valueOf(field, kind)
  if (kind === 'instant') return BigInt(value)
  return kind === 'uuid' ? Buffer.from(String(value).replaceAll('-', ''), 'hex') : value
}

/** Verdicts as Parquet with Snappy, in groups of 2,000 rows, written as they fill up. */
export async function* encodeParquet(rows: Rows): AsyncGenerator<Uint8Array, void, void> {
  const parts: Uint8Array[] = []
  const take = (bytes: Uint8Array): void => void parts.push(bytes.slice())
  const encoder = parquetEncoder(take, VERDICT_COLUMNS, { groupRows: ROW_GROUP_ROWS })
  for await (const row of rows) {
    const file = await (row instanceof Uint8Array ? encoder.addPage(row) : encoder.add(asTexts(row)))
    yield* parts.splice(0)
    if (file) yield file
  }
  await encoder.finish()
  yield* parts.splice(0)
}

/** Rows as a group that any file can take: their places, and a file without its end. */
export async function parquetPage(rows: readonly RowTexts[]): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  const take = (bytes: Uint8Array): void => void parts.push(bytes.slice())
  const encoder = parquetEncoder(take, VERDICT_COLUMNS, { groupRows: rows.length })
  for (const row of rows) await encoder.add(row)
  const places = serialize(encoder.places())
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32LE(places.length)
  return Buffer.concat([head, places, ...parts])
}
