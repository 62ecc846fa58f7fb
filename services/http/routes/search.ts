import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { searchAnswerSchema } from '../../../contracts/knowledge-answers.ts'
import { searchKnowledgeRequest } from '../../../contracts/tools/search-knowledge.ts'
import { sentCredential } from '../../accounts/index.ts'
import type { KnowledgeService } from '../../tool-calls/index.ts'
import { operationsOf } from '../openapi/operation.ts'
import { useSearchFailures } from './search-failures.ts'

export interface SearchRoutesOptions {
  readonly service: Pick<KnowledgeService, 'search'>
}

const schema = {
  operation: operationsOf({ tag: 'knowledge', key: 'required' })(
    'search',
    'Sections of the documentation that fit some words',
    {
      description:
        'Costs no calls of the plan. The answer says nothing about the caller and may be kept for five minutes.',
      errors: ['INTERNAL_ERROR', 'INVALID_QUERY', 'QUERY_TOO_SHORT', 'QUERY_TOO_LONG'],
      body: searchKnowledgeRequest,
      bodyExample: { query: 'webhook signature', limit: 5 },
    },
  ),
  response: { 200: searchAnswerSchema },
}

/**
 * `POST /api/search`: the sections of the documentation that fit some words. Needs a key, and says nothing about
 * whose: an answer may be kept by caches for five minutes, apart for each key, so that none is served past the key.
 */
export const searchRoutes: FastifyPluginAsyncZod<SearchRoutesOptions> = async (app, { service }) => {
  useSearchFailures(app, 'INVALID_QUERY')
  app.post('/api/search', { schema }, async (request, reply) => {
    const answer = await service.search({
      request: request.body,
      authorization: sentCredential(request.headers),
    })
    reply.headers({ 'cache-control': 'public, max-age=300', vary: 'authorization' })
    return answer
  })
}
