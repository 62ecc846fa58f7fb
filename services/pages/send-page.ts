import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendPrepared } from '../http/send-public.ts'
import { PAGE_POLICY, type Page, type PageFrame, page } from './layout.ts'

/**
 * Sends a page, which caches do not store unless the route allowed it.
 *
 * @param policy what it may load and where its forms lead, if that differs from other pages
 */
export function sendPage(
  reply: FastifyReply,
  frame: PageFrame,
  made: Page,
  policy = PAGE_POLICY,
): FastifyReply {
  reply.headers({ 'content-type': TYPE, ...headersOf(policy) })
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply.serializer(String).send(page(frame, made))
}

/** Sends a page that holds nothing of its visitor: compressed, and only where the browser does not have it already. */
export function sendPublicPage(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  return sendPrepared(request, reply.headers(headersOf(PAGE_POLICY)), TYPE, text)
}

const TYPE = 'text/html; charset=utf-8'

const headersOf = (policy: string) => ({
  'content-security-policy': policy,
  // A form sends its origin to this service, which checks it, and to nobody else.
  'referrer-policy': 'same-origin',
})
