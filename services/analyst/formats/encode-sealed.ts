import { createGzip, zstdCompressSync } from 'node:zlib'
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { SealedSchema } from '../../../contracts/sealed-manifest.ts'
import { PARQUET_TYPES, parquetValue } from './encode-parquet.ts'
import { csvLine } from './encode-text.ts'
import { SEALED_COLUMNS, type SealedRow } from './sealed-columns.ts'

/**
 * Rows that are encoded at a time. Readers of whole columns like more, and everybody else waits meanwhile: these take
 * some hundred milliseconds.
 */
const ROW_GROUP_ROWS = 20_000

/** A file of rows that is written as they come: no more of them than a row group is held. */
export interface SealedEncoder {
  add(row: SealedRow): Promise<void>
  /** Resolves when every byte was given away. */
  finish(): Promise<void>
}

/** Takes bytes of a file in their order; it may keep nothing of them. */
export type TakeBytes = (bytes: Uint8Array) => void

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

/** Times as schema 1 had them: the hashes of its files are signed. */
const INSTANT_OF_SCHEMA_1 = { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' } as const

/** Apache Parquet with typed columns, zstd, and the version of the schema in its metadata. */
export function encodeSealedParquet(
  take: TakeBytes,
  version: SealedSchema,
  about: { readonly exchange: string; readonly date: string },
): SealedEncoder {
  const metadata = { schema_version: String(version), exchange: about.exchange, date: about.date }
  const schema: SchemaElement[] = [
    { name: 'verdict', num_children: SEALED_COLUMNS.length },
    ...SEALED_COLUMNS.map(
      ({ name, kind, isOptional }): SchemaElement => ({
        name,
        repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED',
        ...(version === 1 && kind === 'instant' ? INSTANT_OF_SCHEMA_1 : PARQUET_TYPES[kind]),
      }),
    ),
  ]
  const writer = new ParquetWriter({
    writer: new FlushedWriter(take),
    schema,
    codec: 'ZSTD',
    compressors: { ZSTD: (input: Uint8Array) => zstdCompressSync(input) },
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: 'signal-service',
  })
  let group: SealedRow[] = []

  async function writeGroup(): Promise<void> {
    const columnData = SEALED_COLUMNS.map(({ name, kind }) => ({
      name,
      data: group.map((row) => parquetValue(row[name] ?? null, kind)),
    }))
    group = []
    await writer.write({ columnData, rowGroupSize: ROW_GROUP_ROWS })
    // Other work of the process runs between two groups.
    await new Promise(setImmediate)
  }

  return {
    async add(row) {
      group.push(row)
      if (group.length === ROW_GROUP_ROWS) await writeGroup()
    },
    async finish() {
      if (group.length > 0) await writeGroup()
      await writer.finish()
    },
  }
}

/** The same rows as CSV, for readers without Parquet: an empty field is null. */
export function encodeSealedCsv(take: TakeBytes): SealedEncoder {
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
