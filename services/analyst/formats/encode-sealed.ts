import { gzipSync, zstdCompressSync } from 'node:zlib'
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { PARQUET_TYPES, parquetValue } from './encode-parquet.ts'
import { csvLine } from './encode-text.ts'
import type { SealedColumn, SealedRow } from './sealed-columns.ts'

/**
 * Rows that are encoded at a time. Readers of whole columns like more, and everybody else waits meanwhile: these take
 * some hundred milliseconds.
 */
const ROW_GROUP_ROWS = 20_000

/** Apache Parquet with typed columns, zstd, and the version of the schema in its metadata. */
export async function encodeSealedParquet(
  rows: readonly SealedRow[],
  columns: readonly SealedColumn[],
  metadata: Readonly<Record<string, string>>,
): Promise<Buffer> {
  const buffer = new ByteWriter()
  const schema: SchemaElement[] = [
    { name: 'verdict', num_children: columns.length },
    ...columns.map(
      ({ name, kind, isOptional }): SchemaElement => ({
        name,
        repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED',
        ...PARQUET_TYPES[kind],
      }),
    ),
  ]
  const writer = new ParquetWriter({
    writer: buffer,
    schema,
    codec: 'ZSTD',
    compressors: { ZSTD: (input: Uint8Array) => zstdCompressSync(input) },
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: 'signal-service',
  })
  for (let from = 0; from < rows.length; from += ROW_GROUP_ROWS) {
    const group = rows.slice(from, from + ROW_GROUP_ROWS)
    const columnData = columns.map(({ name, kind }) => ({
      name,
      data: group.map((row) => parquetValue(row[name] ?? null, kind)),
    }))
    await writer.write({ columnData, rowGroupSize: ROW_GROUP_ROWS })
    // Whoever waits is answered between two groups.
    await new Promise(setImmediate)
  }
  await writer.finish()
  return Buffer.from(buffer.getBytes())
}

/** The same rows as CSV, for readers without Parquet: an empty field is null. */
export function encodeSealedCsv(rows: readonly SealedRow[], columns: readonly SealedColumn[]): Buffer {
  const lines = [
    columns.map(({ name }) => name),
    ...rows.map((row) => columns.map(({ name }) => row[name] ?? null)),
  ]
  return gzipSync(lines.map(csvLine).join(''))
}
