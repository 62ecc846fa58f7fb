import type { FastifyError, FastifyPluginAsync } from 'fastify'
import { chatAnswerSchema, searchAnswerSchema } from '../../../contracts/answers/knowledge.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { chatKnowledgeRequest, searchKnowledgeRequest } from '../../../contracts/tools/free-tools.ts'
import { sentCredential } from '../../accounts/index.ts'
import type { KnowledgeService } from '../../tool-calls/index.ts'
import { senderOf } from '../add-routes.ts'
import { answerFailure, toServiceError } from '../errors.ts'
import { KEY, KEYED_HEADERS, operation, unchecked } from '../openapi.ts'

export interface KnowledgeRoutesOptions {
  readonly service: Pick<KnowledgeService, 'chat' | 'search'>
}

const SEARCH = {
  ...operation('knowledge', 'search', 'Sections of the documentation that match a query'),
  description:
    'Costs no calls of the plan. The answer says nothing about the caller and may be cached for five minutes.',
  security: KEY,
  body: searchKnowledgeRequest.meta({ examples: [{ query: 'webhook signature', limit: 5 }] }),
  response: { 200: searchAnswerSchema },
}
const CHAT = {
  ...operation('knowledge', 'chat', 'An answer to one question, from the documentation'),
  description:
    'Counts one chat of the account if it was answered, and none if the documentation does not say. Calls of the plan are not touched.',
  security: KEY,
  headers: KEYED_HEADERS,
  body: chatKnowledgeRequest.meta({ examples: [{ question: 'Does a HOLD count against my quota?' }] }),
  response: { 200: chatAnswerSchema },
}

/**
 * `POST /api/search`: the sections of the documentation that fit some words, and `POST /api/chat`: an answer to one
 * question from the documentation, of which an account has so many in a window. Both need a key.
 */
export const knowledgePlugin: FastifyPluginAsync<KnowledgeRoutesOptions> = async (app, { service }) => {
  // Text that is not said to be JSON is refused as every other type is.
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const refusal = inTheirCodes(error, request.routeOptions.url === '/api/chat')
    return answerFailure(refusal, request, reply.header('cache-control', 'no-store'))
  })
  app.post(
    '/api/search',
    { schema: SEARCH, validatorCompiler: unchecked },
    async ({ body, headers }, reply) => {
      const answer = await service.search({ request: body, authorization: sentCredential(headers) })
      // Caches keep it apart for each key, so that none is served past the key.
      reply.headers({ 'cache-control': 'public, max-age=300', vary: 'authorization' })
      return answer
    },
  )
  app.post('/api/chat', { schema: CHAT, validatorCompiler: unchecked }, async (request, reply) => {
    const asked = { ...senderOf(request), request: request.body, channel: 'http' } as const
    const { body, isReplay } = await service.chat(asked)
    reply.header('cache-control', 'no-store')
    if (isReplay) reply.header('idempotency-replayed', 'true')
    return body
  })
}

/** A failure in the codes that search and chat promise; what failed inside is `INTERNAL_ERROR`. */
function inTheirCodes(error: FastifyError, isChat: boolean): ServiceError {
  const refusal = toServiceError(error)
  if (refusal.code === 'internal_error') return new ServiceError('INTERNAL_ERROR', { cause: error })
  if (isServiceError(error) || refusal.code !== 'invalid_request') return refusal
  const code = isChat ? 'INVALID_QUESTION' : 'INVALID_QUERY'
  return new ServiceError(code, { message: 'The body cannot be read as JSON.', cause: error })
}
