import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'
import { keyCursor, keyCursorParameter, rowsParameter } from '../../../contracts/parameters.ts'
import { type UsageAnswer, usageAnswerSchema } from '../../../contracts/usage.ts'
import { sentCredential } from '../../accounts/index.ts'
import { operationsOf } from '../openapi/operation.ts'

export interface UsageRoutesOptions {
  /**
   * The calls that the account of a key has used.
   *
   * @throws ServiceError `unauthorized`, `key_unknown`, `key_unverifiable`, `store_unavailable`
   */
  readonly usage: (
    authorization: string | undefined,
    query: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<UsageAnswer>
}

const querySchema = z.strictObject({
  after: keyCursorParameter,
  limit: rowsParameter(LIMITS.usageRows, 50),
})

/** `GET /api/usage`: the calls of the account that a key belongs to: what is left, by day, and one by one. */
export const usageRoutes: FastifyPluginAsyncZod<UsageRoutesOptions> = async (app, options) => {
  const schema = {
    operation: operationsOf({ tag: 'account', key: 'required', errors: ['store_unavailable'] })(
      'usage',
      'The calls left, and the ledger of those that were made',
      {},
    ),
    querystring: querySchema,
    response: { 200: usageAnswerSchema },
  }
  app.get('/api/usage', { schema }, async ({ headers, query }, reply) => {
    const answer = await options.usage(sentCredential(headers), query)
    reply.header('cache-control', 'no-store')
    return { ...answer, next: keyCursor(answer.next) }
  })
}
