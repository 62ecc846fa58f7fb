import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { RecentMap } from '../runtime/cache/recent-map.ts'
import { acceptedCoding } from './accept.ts'

/** Headers of every answer. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Caching of what never changes. */
export const FOR_EVER = 'public, max-age=31536000, immutable'

/** Pages of any origin may read it and show it. */
export const OPEN = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** Headers about one request and its caller: left out of answers that caches keep for others. */
export const CALLERS_HEADERS = ['x-request-id', 'ratelimit', 'ratelimit-policy'] as const

/** Pages of any origin may read what is public and the same for all. */
const PUBLIC_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag',
} as const

/** Whether the caller has what a validator stands for (RFC 9110 §13.1.2), weak or strong. */
export const hasAlready = ({ headers }: FastifyRequest, etag: string): boolean => {
  const asked = (headers['if-none-match'] ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  return asked.includes('*') || asked.includes(etag.replace(/^W\//, ''))
}

/** Texts that are sent compressed: a shorter one costs more than it saves. */
const LEAST_COMPRESSED = 4_000

/** Documents are few, and each is compressed once. */
const prepared = new RecentMap<string, { readonly etag: string; readonly gzip: Buffer | undefined }>(32)

function prepare(text: string) {
  const known = prepared.get(text)
  if (known !== undefined) return known
  const etag = `W/"${hash('sha256', text, 'base64url').slice(0, 27)}"`
  const made = { etag, gzip: text.length < LEAST_COMPRESSED ? undefined : gzipSync(text) }
  prepared.set(text, made)
  return made
}

/** Sends what is the same for all, or says that it still is. */
export const sendPublic = (request: FastifyRequest, reply: FastifyReply, type: string, text: string) =>
  sendPrepared(request, reply.headers(PUBLIC_HEADERS), type, text)

/** As {@link sendPublic}, with the caching that was set before. */
export function sendPrepared(request: FastifyRequest, reply: FastifyReply, type: string, text: string) {
  const { etag, gzip } = prepare(text)
  reply.headers({ etag, vary: [reply.getHeader('vary') ?? [], 'accept-encoding'].flat().join(', ') })
  if (hasAlready(request, etag)) return reply.code(304).send()
  reply.type(type).serializer(String)
  const isCompressed = gzip !== undefined && acceptedCoding(request, ['gzip']) === 'gzip'
  return isCompressed ? reply.header('content-encoding', 'gzip').send(gzip) : reply.send(text)
}
