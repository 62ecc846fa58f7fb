import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { VerdictRow } from '../../../contracts/answers/verdict-row.ts'
import type { Json, JsonObject } from '../../../contracts/infra/json.ts'
import { type Column, type ColumnKind, VERDICT_COLUMNS } from './verdict-columns.ts'

/** Rows held in memory at a time, 3 MB of them: encoding a group keeps everybody else waiting for 40 ms. */
const ROW_GROUP_ROWS = 2_000

/** A file of rows that is written as they come: no more of them than a row group is held. */
export interface RowEncoder<Row> {
  add(row: Row): Promise<void>
  /** Resolves when every byte was given away. */
  finish(): Promise<void>
}

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
 */
export function parquetEncoder(
  take: TakeBytes,
  columns: readonly Column[],
  {
    groupRows,
    ...settings
  }: { readonly groupRows: number } & Omit<
    ConstructorParameters<typeof ParquetWriter>[0],
    'writer' | 'schema' | 'createdBy'
  >,
) {
  const fields = columns.map(
    ({ name, kind, isOptional }): SchemaElement => ({
      name,
      repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED',
      ...TYPES[kind],
    }),
  )
  // The writer would parse and write them again if it knew before its end that they are JSON.
  const texts = new Set(columns.filter(({ kind }) => kind === 'json').map(({ name }) => name))
  const schema: SchemaElement[] = [{ name: 'verdict', num_children: columns.length }, ...fields]
  const bytes = new FlushedWriter(take)
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'signal-service', ...settings })
  let group: JsonObject[] = []

  async function writeGroup(): Promise<void> {
    const columnData = columns.map(({ name, kind }) => ({
      name,
      data: group.map((row) => storedOf(row[name] ?? null, kind)),
    }))
    group = []
    await writer.write({ columnData, rowGroupSize: groupRows })
    // Other work of the process runs between two groups.
    await new Promise(setImmediate)
  }

  return {
    async add(row: JsonObject): Promise<void> {
      if (group.push(row) === groupRows) await writeGroup()
    },
    async finish(): Promise<void> {
      if (group.length > 0) await writeGroup()
      for (const field of schema) if (texts.has(field.name)) field.converted_type = 'JSON'
      await writer.finish()
    },
  }
}

/** A value in the form that the writer takes without converting it. */
function storedOf(value: Json, kind: ColumnKind): unknown {
  if (value === null) return null
  if (kind === 'json') return Buffer.from(JSON.stringify(value))
  if (kind === 'instant' && typeof value === 'string') return BigInt(Date.parse(value))
  if (kind === 'uuid' && typeof value === 'string') return Buffer.from(value.replaceAll('-', ''), 'hex')
  return value
}

/** Verdicts as Parquet with Snappy, in groups of 2,000 rows, written as they fill up. */
export async function* encodeParquet(
  rows: AsyncIterable<VerdictRow>,
): AsyncGenerator<Uint8Array, void, void> {
  const parts: Uint8Array[] = []
  const take = (bytes: Uint8Array): void => void parts.push(bytes.slice())
  const encoder = parquetEncoder(take, VERDICT_COLUMNS, { groupRows: ROW_GROUP_ROWS })
  for await (const row of rows) {
    await encoder.add(row)
    yield* parts.splice(0)
  }
  await encoder.finish()
  yield* parts.splice(0)
}
