import type { VerdictRow } from '../../../contracts/answers/verdict-row.ts'
import { encodeCsv, encodeNdjson } from './encode-text.ts'

export const VERDICT_FORMATS = ['ndjson', 'csv', 'parquet'] as const
export type VerdictFormat = (typeof VERDICT_FORMATS)[number]

export interface FormatDefinition {
  /** Media type of an HTTP answer. */
  readonly mediaType: string
  /** Other names a client may ask for it by. */
  readonly aliases: readonly string[]
  /** Ending of a file name. */
  readonly ending: string
  /** Whether it is compressed as it is. */
  readonly isPacked?: true
  /** The bytes of rows, while they come. */
  readonly encode: (rows: AsyncIterable<VerdictRow>) => AsyncGenerator<Uint8Array, void, void>
}

/** How verdicts are written out. */
export const FORMATS: Readonly<Record<VerdictFormat, FormatDefinition>> = {
  ndjson: {
    mediaType: 'application/x-ndjson; charset=utf-8',
    aliases: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
    ending: 'ndjson',
    encode: encodeNdjson,
  },
  csv: {
    mediaType: 'text/csv; charset=utf-8; header=present',
    aliases: ['text/csv'],
    ending: 'csv',
    encode: encodeCsv,
  },
  parquet: {
    mediaType: 'application/vnd.apache.parquet',
    aliases: ['application/vnd.apache.parquet', 'application/x-parquet'],
    ending: 'parquet',
    isPacked: true,
    async *encode(rows) {
      const { encodeParquet } = await import('./encode-parquet.ts')
      yield* encodeParquet(rows)
    },
  },
}

/**
 * The format that a client would rather have, of those an `Accept` header names by their own name; NDJSON
 * where it names none (RFC 9110 §12.5.1 leaves that to the server).
 */
export function acceptedFormat(accept: string | undefined): VerdictFormat {
  let best: { readonly format: VerdictFormat; readonly weight: number } | undefined
  for (const range of (accept ?? '').split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const format = VERDICT_FORMATS.find((candidate) => FORMATS[candidate].aliases.includes(name))
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    const weight = quality === undefined ? 1 : Number(quality.slice('q='.length))
    if (format !== undefined && weight > (best?.weight ?? 0)) best = { format, weight }
  }
  return best?.format ?? 'ndjson'
}

/** The format that a file's name ends in; undefined for another ending. */
export const formatOfFile = (file: string): VerdictFormat | undefined =>
  VERDICT_FORMATS.find((format) => file.toLowerCase().endsWith(`.${FORMATS[format].ending}`))
