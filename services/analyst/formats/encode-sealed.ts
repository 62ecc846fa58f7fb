import { createGzip, zstdCompressSync } from 'node:zlib'
import { SEALED_SCHEMA } from '../../../contracts/answers/sealed.ts'
import { parquetEncoder, type RowEncoder, type TakeBytes } from './encode-parquet.ts'
import { csvLine } from './encode-text.ts'
import { SEALED_COLUMNS, type SealedRow } from './sealed-columns.ts'

/**
 * Rows that are encoded at a time. Readers of whole columns like more, and everybody else waits meanwhile: these take
 * some hundred milliseconds.
 */
const ROW_GROUP_ROWS = 20_000

/** Apache Parquet with zstd, and the version of the schema in its metadata. */
export function encodeSealedParquet(
  take: TakeBytes,
  { exchange, date }: { readonly exchange: string; readonly date: string },
): RowEncoder<SealedRow> {
  const metadata = { schema_version: String(SEALED_SCHEMA), exchange, date }
  return parquetEncoder(take, SEALED_COLUMNS, {
    groupRows: ROW_GROUP_ROWS,
    codec: 'ZSTD',
    compressors: { ZSTD: (input: Uint8Array) => zstdCompressSync(input) },
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  })
}

/** The same rows as CSV, for readers without Parquet: an empty field is null. */
export function encodeSealedCsv(take: TakeBytes): RowEncoder<SealedRow> {
  const gzip = createGzip()
  const ended = new Promise<void>((resolve, reject) => {
    gzip.on('data', take).once('end', resolve).once('error', reject)
  })
  // `finish` awaits this promise and reports the error.
  ended.catch(() => undefined)
  let lines = csvLine(SEALED_COLUMNS.map(({ name }) => name))

  async function write(): Promise<void> {
    const text = lines
    lines = ''
    if (!gzip.write(text)) await Promise.race([ended, new Promise((resolve) => gzip.once('drain', resolve))])
  }

  return {
    async add(row) {
      lines += csvLine(SEALED_COLUMNS.map(({ name }) => row[name] ?? null))
      if (lines.length >= CSV_CHARACTERS) await write()
    },
    async finish() {
      gzip.end(lines)
      await ended
    },
  }
}

const CSV_CHARACTERS = 64 * 1_024
