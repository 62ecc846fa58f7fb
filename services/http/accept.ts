import { pipeline, type Readable, type Transform } from 'node:stream'
import { constants, createGzip, createZstdCompress } from 'node:zlib'
import type { FastifyRequest } from 'fastify'

/** Whether a caller prefers a page to JSON, as browsers do. Without a preference it is JSON. */
export const acceptsHtmlFirst = (request: FastifyRequest): boolean =>
  // A request that the framework itself refuses has no method for it.
  typeof request.accepts === 'function' && request.accepts().type(['json', 'html']) === 'html'

/** As the official clients of MCP send it. */
const USUAL = 'application/json, text/event-stream'

/** Whether an `Accept` header admits JSON (RFC 9110 §12.5.1). */
export const acceptsJson = (request: FastifyRequest): boolean =>
  request.headers.accept === USUAL || request.accepts().type('json') !== false

/** Codings of a streamed text. */
const CODINGS = ['zstd', 'gzip'] as const
type ContentCoding = (typeof CODINGS)[number]

/**
 * The coding of an answer (RFC 9110 §12.5.3). Only a named coding is used: a caller that accepts anything (`*`) gets
 * the text as it is.
 *
 * @returns undefined for the text as it is
 */
export function acceptedCoding(request: FastifyRequest, codings: readonly ContentCoding[] = CODINGS) {
  const best = request.accepts().encoding([...codings, 'identity'])
  const header = request.headers['accept-encoding']?.toLowerCase()
  return codings.find((coding) => coding === best && header?.includes(coding) === true)
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
