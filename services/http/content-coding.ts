import { pipeline, type Readable, type Transform } from 'node:stream'
import { constants, createGzip, createZstdCompress } from 'node:zlib'

/** Forms in which a streamed text is sent, the better one first. */
const CODINGS = ['zstd', 'gzip'] as const
export type ContentCoding = (typeof CODINGS)[number]

/**
 * The coding that a caller would rather have (RFC 9110 §12.5.3). Only one that is named is used: a caller that takes anything
 * (`*`) gets the text as it is, which costs nobody anything.
 *
 * @param codings that there are
 * @returns undefined for the text as it is
 * @example acceptedCoding('gzip;q=0.5, zstd') === 'zstd'
 */
export function acceptedCoding(
  acceptEncoding: string | undefined,
  codings: readonly ContentCoding[] = CODINGS,
): ContentCoding | undefined {
  const weights = new Map<string, number>()
  for (const part of (acceptEncoding ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length)
    weights.set(name === 'x-gzip' ? 'gzip' : name, quality === undefined ? 1 : Number(quality))
  }
  const weightOf = (name: string): number => weights.get(name) ?? 0
  const [best] = codings
    .filter((coding) => weightOf(coding) > 0)
    .toSorted((a, b) => weightOf(b) - weightOf(a))
  return best !== undefined && weightOf(best) >= weightOf('identity') ? best : undefined
}

/** Quick levels with small windows: the thread pool and the memory are everybody's. Each chunk is flushed, so that it can be read at once. */
const ENCODERS: Readonly<Record<ContentCoding, () => Transform>> = {
  zstd: () =>
    createZstdCompress({
      flush: constants.ZSTD_e_flush,
      params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_windowLog]: 20 },
    }),
  gzip: () => createGzip({ level: 4, flush: constants.Z_SYNC_FLUSH }),
}

/** A stream in a content coding. An end of either stream ends the other. */
export function encoded(source: Readable, coding: ContentCoding | undefined): Readable {
  if (coding === undefined) return source
  // A failure of the source also fails the returned stream, so its reader sees it.
  return pipeline(source, ENCODERS[coding](), () => undefined)
}
