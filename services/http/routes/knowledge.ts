import type { FastifyError, FastifyInstance } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { type ErrorCode, isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { chatAnswerSchema, searchAnswerSchema } from '../../../contracts/knowledge-answers.ts'
import { chatKnowledgeRequest } from '../../../contracts/tools/chat-knowledge.ts'
import { searchKnowledgeRequest } from '../../../contracts/tools/search-knowledge.ts'
import { sentCredential } from '../../accounts/index.ts'
import type { KnowledgeService } from '../../tool-calls/index.ts'
import { answerFailure, toServiceError } from '../errors.ts'
import { operationsOf } from '../openapi/operation.ts'

export interface KnowledgeRoutesOptions {
  readonly service: Pick<KnowledgeService, 'chat' | 'search'>
}

const operation = operationsOf({ tag: 'knowledge', key: 'required' })

const searching = {
  operation: operation('search', 'Sections of the documentation that fit some words', {
    description:
      'Costs no calls of the plan. The answer says nothing about the caller and may be kept for five minutes.',
    errors: ['INTERNAL_ERROR', 'INVALID_QUERY', 'QUERY_TOO_SHORT', 'QUERY_TOO_LONG'],
    body: searchKnowledgeRequest,
    bodyExample: { query: 'webhook signature', limit: 5 },
  }),
  response: { 200: searchAnswerSchema },
}

/**
 * `POST /api/search`: the sections of the documentation that fit some words. Needs a key, and says nothing about
 * whose: an answer may be kept by caches for five minutes, apart for each key, so that none is served past the key.
 */
export const searchRoutes: FastifyPluginAsyncZod<KnowledgeRoutesOptions> = async (app, { service }) => {
  useSearchFailures(app, 'INVALID_QUERY')
  app.post('/api/search', { schema: searching }, async (request, reply) => {
    const answer = await service.search({
      request: request.body,
      authorization: sentCredential(request.headers),
    })
    reply.headers({ 'cache-control': 'public, max-age=300', vary: 'authorization' })
    return answer
  })
}

const asking = {
  operation: operation('chat', 'An answer to one question, from the documentation', {
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
  }),
  response: { 200: chatAnswerSchema },
}

/**
 * `POST /api/chat`: answers one question from the documentation, or says that it does not say. Needs a key, whose
 * account has so many chats in a window; is kept by no cache.
 */
export const chatRoutes: FastifyPluginAsyncZod<KnowledgeRoutesOptions> = async (app, { service }) => {
  useSearchFailures(app, 'INVALID_QUESTION')
  app.post('/api/chat', { schema: asking }, async (request, reply) => {
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

/**
 * Answers the failures of search and chat in the codes that they promise: a body that cannot be read as JSON in the
 * code given, and what failed inside as `INTERNAL_ERROR`. No failure may be kept by caches.
 */
function useSearchFailures(app: FastifyInstance, unreadable: ErrorCode): void {
  // Text that is not said to be JSON is refused as every other type is.
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler((error: FastifyError, request, reply) => {
    reply.header('cache-control', 'no-store')
    return answerFailure(inTheirCodes(error, unreadable), request, reply)
  })
}

function inTheirCodes(error: FastifyError, unreadable: ErrorCode): ServiceError {
  const refusal = toServiceError(error)
  if (refusal.code === 'internal_error') return new ServiceError('INTERNAL_ERROR', { cause: error })
  return !isServiceError(error) && refusal.code === 'invalid_request'
    ? new ServiceError(unreadable, { message: 'The body cannot be read as JSON.', cause: error })
    : refusal
}
