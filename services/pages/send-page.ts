import type { FastifyReply } from 'fastify'
import { PAGE_POLICY, type Page, type PageFrame, page } from './layout.ts'

/**
 * Sends a page that is not kept, unless something else was said before.
 *
 * @param policy of what it may load and where its forms lead, where that is not as everywhere
 */
export const sendPage = (reply: FastifyReply, frame: PageFrame, made: Page, policy?: string): FastifyReply =>
  sendText(reply, page(frame, made), policy)

/** As {@link sendPage}, of a page that was made before. */
export function sendText(reply: FastifyReply, text: string, policy: string = PAGE_POLICY): FastifyReply {
  reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    // A form sends its origin to this service, which checks it, and to nobody else.
    'referrer-policy': 'same-origin',
  })
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply.serializer(String).send(text)
}
