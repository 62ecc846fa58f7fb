import type { FastifyReply, FastifyRequest } from 'fastify'
import { etagOf, isNoneMatch } from './etag.ts'

/** Pages of any origin may read what is public and the same for all. */
export const PUBLIC_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag',
} as const

/** Sends what is the same for all, or says that it still is. */
export function sendPublic(
  request: FastifyRequest,
  reply: FastifyReply,
  type: string,
  text: string,
): FastifyReply {
  const etag = etagOf(text)
  reply.headers({ ...PUBLIC_HEADERS, etag })
  if (isNoneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send()
  return reply.type(type).serializer(String).send(text)
}
