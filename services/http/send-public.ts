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

/** Headers about one request and its caller: left out of answers that caches keep for others. */
export const CALLERS_HEADERS = ['x-request-id', 'ratelimit', 'ratelimit-policy'] as const

/** A strong validator of an answer's bytes (RFC 9110 §8.8.3). @example etagOf('{}') // '"…27 characters…"' */
const etagOf = (body: string): string => `"${hash('sha256', body, 'base64url').slice(0, 27)}"`

/** Whether an `If-None-Match` header names a validator (RFC 9110 §13.1.2), weak or strong, or any. */
export const isNoneMatch = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' ||
    header
      .split(',')
      .map((one) => one.trim().replace(/^W\//, ''))
      .includes(etag))

/** Pages of any origin may read what is public and the same for all. */
export const PUBLIC_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag',
} as const

/** Texts that are sent compressed: a shorter one costs more than it saves. */
const LEAST_COMPRESSED = 4_000

interface Prepared {
  readonly etag: string
  readonly gzip: Buffer | undefined
}
/** Documents are few, and each is prepared once. */
const prepared = new RecentMap<string, Prepared>(32)

function prepare(text: string): Prepared {
  const known = prepared.get(text)
  if (known !== undefined) return known
  const made = { etag: etagOf(text), gzip: text.length < LEAST_COMPRESSED ? undefined : gzipSync(text) }
  prepared.set(text, made)
  return made
}

/** Sends what is the same for all, or says that it still is. */
export const sendPublic = (
  request: FastifyRequest,
  reply: FastifyReply,
  type: string,
  text: string,
): FastifyReply => sendPrepared(request, reply.headers(PUBLIC_HEADERS), type, text)

/** As {@link sendPublic}, with the caching that was said before. */
export function sendPrepared(
  request: FastifyRequest,
  reply: FastifyReply,
  type: string,
  text: string,
): FastifyReply {
  const { etag, gzip } = prepare(text)
  const varies = [reply.getHeader('vary') ?? [], 'accept-encoding'].flat()
  reply.headers({ etag, vary: varies.join(', ') })
  if (isNoneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send()
  reply.type(type).serializer(String)
  const coding = acceptedCoding(request.headers['accept-encoding'], ['gzip'])
  if (gzip === undefined || coding === undefined) return reply.send(text)
  // The bytes differ from those of the text, and so does their strong validator.
  return reply.headers({ 'content-encoding': 'gzip', etag: `W/${etag}` }).send(gzip)
}
