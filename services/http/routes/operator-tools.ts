import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Json } from '../../../contracts/json.ts'
import { isOperator } from '../operator.ts'

export interface OperatorToolRoutesOptions {
  /**
   * Answers a tool call of any caller.
   *
   * @throws ServiceError for an unknown tool, a request that is not valid, and every refusal of the tool.
   */
  readonly answerTool: (tool: string, request: unknown) => Promise<Json>
  readonly operatorToken: string | undefined
}

/** `POST /operator/tools/:tool`: a tool's answer for the operator, neither metered nor paid for. */
export const operatorToolRoutes: FastifyPluginAsyncZod<OperatorToolRoutesOptions> = async (app, options) => {
  const schema = { params: z.object({ tool: z.string().max(64) }) }
  app.post('/operator/tools/:tool', { schema }, async (request, reply) => {
    if (!isOperator(request, options.operatorToken)) throw new ServiceError('unauthorized')
    reply.header('cache-control', 'no-store')
    return options.answerTool(request.params.tool, request.body ?? {})
  })
}
