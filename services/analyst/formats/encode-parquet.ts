import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { Json } from '../../../contracts/json.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { type ColumnKind, VERDICT_COLUMNS } from './verdict-columns.ts'

/** Rows held in memory at a time, 3 MB of them: encoding a group keeps everybody else waiting for 40 ms. */
const ROW_GROUP_ROWS = 2_000

export const PARQUET_TYPES: Readonly<Record<ColumnKind, Omit<SchemaElement, 'name'>>> = {
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
  json: { type: 'BYTE_ARRAY', converted_type: 'JSON' },
}

const SCHEMA: SchemaElement[] = [
  { name: 'verdict', num_children: VERDICT_COLUMNS.length },
  ...VERDICT_COLUMNS.map(
    ({ name, kind, isOptional }): SchemaElement => ({
      name,
      repetition_type: isOptional === true ? 'OPTIONAL' : 'REQUIRED',
      ...PARQUET_TYPES[kind],
    }),
  ),
]

/**
 * Apache Parquet with typed columns: times as UTC timestamps in milliseconds, ids as UUIDs, factors and ranges as JSON. Snappy,
 * groups of 2,000 rows, written as they fill up.
 *
 * @param createdBy what wrote the file, for its metadata.
 */
export async function* encodeParquet(
  rows: AsyncIterable<VerdictRow>,
  createdBy = 'signal-service',
): AsyncGenerator<Uint8Array, void, void> {
  const buffer = new ByteWriter()
  const writer = new ParquetWriter({ writer: buffer, schema: SCHEMA, createdBy })
  let group: VerdictRow[] = []
  const writeGroup = async (): Promise<Uint8Array> => {
    await writer.write({ columnData: columnsOf(group), rowGroupSize: ROW_GROUP_ROWS })
    group = []
    return takeBytes(buffer)
  }
  for await (const row of rows) {
    if (group.push(row) === ROW_GROUP_ROWS) yield await writeGroup()
  }
  if (group.length > 0) yield await writeGroup()
  await writer.finish()
  yield takeBytes(buffer)
}

/** The bytes written since the last call. `offset` keeps counting: the index of the file uses it. */
function takeBytes(buffer: ByteWriter): Uint8Array {
  const bytes = buffer.getBytes().slice()
  buffer.index = 0
  return bytes
}

/** The value to write into a column: a row has times as text, Parquet as instants. */
export const parquetValue = (value: Json, kind: ColumnKind): unknown =>
  kind === 'instant' && typeof value === 'string' ? new Date(value) : value

const columnsOf = (rows: readonly VerdictRow[]): ColumnSource[] =>
  VERDICT_COLUMNS.map(({ name, kind }) => ({
    name,
    data: rows.map((row) => parquetValue(row[name], kind)),
  }))
