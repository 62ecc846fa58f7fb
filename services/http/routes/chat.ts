import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { chatAnswerSchema } from '../../../contracts/knowledge-answers.ts'
import type { KnowledgeService } from '../../tool-calls/index.ts'
import { useSearchFailures } from './search-failures.ts'

export interface ChatRoutesOptions {
  readonly service: Pick<KnowledgeService, 'chat'>
}

/**
 * `POST /api/chat`: answers one question from the documentation, or says that it does not say. Needs a key, whose
 * account has so many chats in a window; is kept by no cache.
 *
 * @example curl -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' -d '{"question":"What does HOLD mean?"}' …/api/chat
 */
export const chatRoutes: FastifyPluginAsyncZod<ChatRoutesOptions> = async (app, { service }) => {
  useSearchFailures(app, 'INVALID_QUESTION')
  app.post('/api/chat', { schema: { response: { 200: chatAnswerSchema } } }, async (request, reply) => {
    const { authorization, 'idempotency-key': key } = request.headers
    const { body, isReplay } = await service.chat({
      request: request.body,
      authorization,
      idempotencyKey: typeof key === 'string' ? key : undefined,
      requestId: request.id,
      channel: 'http',
    })
    reply.header('cache-control', 'no-store')
    if (isReplay) reply.header('idempotency-replayed', 'true')
    return body
  })
}
