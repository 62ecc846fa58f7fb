import { pipeline, type Readable, type Transform } from 'node:stream'
import { constants, createGzip, createZstdCompress } from 'node:zlib'

/** The weights that a header of preferences gives, by name in lower case (RFC 9110 §12.4.2). */
function weightsOf(header: string | undefined): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of (header ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const q = parameters.find((text) => text.startsWith('q='))?.slice(2)
    const weight = q === undefined ? 1 : Number(q)
    if (!weights.has(name)) weights.set(name, Number.isFinite(weight) ? weight : 0)
  }
  return weights
}

/** The weight that an `Accept` header gives a media type (RFC 9110 §12.5.1): the most specific range decides. */
function weightOf(accept: string, type: string): number {
  const weights = weightsOf(accept)
  return weights.get(type) ?? weights.get(`${type.split('/')[0]}/*`) ?? weights.get('*/*') ?? 0
}

/**
 * Whether a caller prefers a page to JSON, as browsers do. Without a preference it is JSON.
 *
 * @example acceptsHtmlFirst('text/html,*\/*;q=0.8') && !acceptsHtmlFirst('*\/*')
 */
export const acceptsHtmlFirst = (accept: string | undefined): boolean =>
  accept !== undefined && weightOf(accept, 'text/html') > weightOf(accept, 'application/json')

/** As the official clients of MCP send it. */
const USUAL = 'application/json, text/event-stream'

/**
 * Whether an `Accept` header admits JSON.
 *
 * @example acceptsJson('text/html, application/*;q=0.5') && !acceptsJson('text/event-stream')
 */
export const acceptsJson = (accept: string | undefined): boolean =>
  accept === undefined || accept === USUAL || weightOf(accept, 'application/json') > 0

/** Codings of a streamed text, the better one first. */
const CODINGS = ['zstd', 'gzip'] as const
type ContentCoding = (typeof CODINGS)[number]

/**
 * The coding that a caller prefers (RFC 9110 §12.5.3). Only a named coding is used: a caller that accepts anything
 * (`*`) gets the text as it is.
 *
 * @returns undefined for the text as it is
 * @example acceptedCoding('gzip;q=0.5, zstd') === 'zstd'
 */
export function acceptedCoding(
  acceptEncoding: string | undefined,
  codings: readonly ContentCoding[] = CODINGS,
): ContentCoding | undefined {
  const weights = weightsOf(acceptEncoding)
  const weight = (name: string): number =>
    weights.get(name) ?? (name === 'gzip' ? weights.get('x-gzip') : undefined) ?? 0
  const [best] = codings.filter((coding) => weight(coding) > 0).toSorted((a, b) => weight(b) - weight(a))
  return best !== undefined && weight(best) >= weight('identity') ? best : undefined
}

/** Quick levels with small windows, as threads and memory are shared. Each chunk is flushed, to be read at once. */
const ENCODERS: Readonly<Record<ContentCoding, () => Transform>> = {
  zstd: () =>
    createZstdCompress({
      flush: constants.ZSTD_e_flush,
      params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_windowLog]: 20 },
    }),
  gzip: () => createGzip({ level: 4, flush: constants.Z_SYNC_FLUSH }),
}

/** A stream in a content coding. An end of either stream ends the other. */
export const encoded = (source: Readable, coding: ContentCoding | undefined): Readable =>
  // A failure of the source also fails the returned stream, so its reader sees it.
  coding === undefined ? source : pipeline(source, ENCODERS[coding](), () => undefined)
