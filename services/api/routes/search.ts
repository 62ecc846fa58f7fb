import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { searchAnswerSchema } from '../../../contracts/knowledge-answers.ts'
import type { KnowledgeDesk } from '../../calls/index.ts'
import { etagOf, isNoneMatch } from '../etag.ts'
import { useSearchFailures } from './search-failures.ts'

export interface SearchRoutesOptions {
  readonly desk: Pick<KnowledgeDesk, 'search'>
}

/** What is sent is text already, from which the validator was made. */
const schema = { response: { 200: z.union([searchAnswerSchema, z.string()]) } }

/**
 * `POST /api/search`: the sections of the documentation that fit some words. Needs a key, and says nothing about whose:
 * an answer may be kept by caches for five minutes, apart for each key, so that none is served past the key.
 *
 * @example curl -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' -d '{"query":"quota"}' …/api/search
 */
export const searchRoutes: FastifyPluginAsyncZod<SearchRoutesOptions> = async (app, { desk }) => {
  useSearchFailures(app, 'INVALID_QUERY')
  app.post('/api/search', { schema }, async (request, reply) => {
    const { authorization, 'if-none-match': ifNoneMatch } = request.headers
    const body = JSON.stringify(await desk.search({ request: request.body, authorization }))
    const etag = etagOf(body)
    reply.headers({ 'cache-control': 'public, max-age=300', vary: 'authorization', etag })
    // Without a body there is nothing for the schema to check.
    if (isNoneMatch(ifNoneMatch, etag)) return (reply as FastifyReply).code(304).send()
    return reply.type('application/json; charset=utf-8').serializer(String).send(body)
  })
}
