import type { FastifyReply } from 'fastify'
import { PAGE_POLICY, type Page, type PageFrame, page } from './layout.ts'

/** Headers of every page. A form sends its origin to this service, which checks it, and to nobody else. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': PAGE_POLICY,
  'referrer-policy': 'same-origin',
} as const

/**
 * Sends a page that is not kept, unless something else was said before.
 *
 * @param policy of what it may load and where its forms lead, where that is not as everywhere
 */
export function sendPage(
  reply: FastifyReply,
  frame: PageFrame,
  made: Page,
  policy: string = PAGE_POLICY,
): FastifyReply {
  reply.headers({ ...PAGE_HEADERS, 'content-security-policy': policy })
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply.serializer(String).send(page(frame, made))
}
