import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { chatAnswerSchema } from '../../../contracts/knowledge-answers.ts'
import { chatKnowledgeRequest } from '../../../contracts/tools/chat-knowledge.ts'
import { sentCredential } from '../../accounts/index.ts'
import type { KnowledgeService } from '../../tool-calls/index.ts'
import { operationsOf } from '../openapi/operation.ts'
import { useSearchFailures } from './search-failures.ts'

export interface ChatRoutesOptions {
  readonly service: Pick<KnowledgeService, 'chat'>
}

const schema = {
  operation: operationsOf({ tag: 'knowledge', key: 'required' })(
    'chat',
    'An answer to one question, from the documentation',
    {
      description:
        'Counts one chat of the account where it was answered, and none where the documentation does not say. Calls of the plan are another matter and are not touched.',
      errors: [
        'INTERNAL_ERROR',
        'INVALID_QUESTION',
        'QUESTION_TOO_SHORT',
        'QUESTION_TOO_LONG',
        'INVALID_MODEL',
        'CHAT_QUOTA_EXHAUSTED',
        'idempotency_mismatch',
        'store_unavailable',
        'store_full',
      ],
      headers: {
        'Idempotency-Key':
          'Up to 255 visible ASCII characters, new for every new question: the same question sent again with it gets the stored answer and is not counted again',
      },
      body: chatKnowledgeRequest,
      bodyExample: { question: 'Does a HOLD count against my quota?' },
    },
  ),
  response: { 200: chatAnswerSchema },
}

/**
 * `POST /api/chat`: answers one question from the documentation, or says that it does not say. Needs a key, whose
 * account has so many chats in a window; is kept by no cache.
 */
export const chatRoutes: FastifyPluginAsyncZod<ChatRoutesOptions> = async (app, { service }) => {
  useSearchFailures(app, 'INVALID_QUESTION')
  app.post('/api/chat', { schema }, async (request, reply) => {
    const { 'idempotency-key': key } = request.headers
    const { body, isReplay } = await service.chat({
      request: request.body,
      authorization: sentCredential(request.headers),
      idempotencyKey: typeof key === 'string' ? key : undefined,
      requestId: request.id,
      channel: 'http',
    })
    reply.header('cache-control', 'no-store')
    if (isReplay) reply.header('idempotency-replayed', 'true')
    return body
  })
}
