import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { boardAnswerSchema } from '../../../contracts/board.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  coinParameter,
  exchangeParameter,
  rowsParameter,
  timeframeParameter,
} from '../../../contracts/parameters.ts'
import { CALLS } from '../../../contracts/verdict.ts'
import type { Board } from '../../analyst/index.ts'
import { operationsOf } from '../openapi/operation.ts'

export interface BoardRoutesOptions {
  /** @throws ServiceError `store_unavailable` where this process keeps no read models */
  readonly board: Board
}

export const boardFilters = {
  exchange: exchangeParameter.optional(),
  coin: coinParameter.optional(),
  timeframe: timeframeParameter.optional(),
  call: z.enum(CALLS).optional().describe('Verdicts that are shown; for others, the newest that was decided'),
}

const querySchema = z.strictObject({
  ...boardFilters,
  after: z
    .string()
    .regex(/^\d{1,7}$/, 'must be the `next` of an answer')
    .transform(Number)
    .default(0)
    .describe('Further rows: the `next` of the answer before'),
  limit: rowsParameter(LIMITS.boardRows, 100),
})

/**
 * `GET /api/board`: what every series says now, BUY and SELL first. Open to all; on a live market without verdicts
 * whose window is open.
 */
export const boardRoutes: FastifyPluginAsyncZod<BoardRoutesOptions> = async (app, { board }) => {
  const schema = {
    operation: operationsOf({ tag: 'verdicts' })(
      'board',
      'What every series says now: its regime, its newest verdict, and the newest that was decided',
      {
        description:
          'On a live market a verdict is shown once its window has closed; fresh ones are answered by the tools. On others it is shown at once.',
        errors: ['store_unavailable'],
        parameters: { exchange: 'One exchange', coin: 'One coin' },
      },
    ),
    querystring: querySchema,
    response: { 200: boardAnswerSchema },
  }
  app.get('/api/board', { schema }, async ({ query }, reply) => {
    reply.header('cache-control', 'public, max-age=1')
    const { after: skip, ...filters } = query
    return board.read({ ...filters, skip }).answer
  })
}
