import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  coinParameter,
  exchangeParameter,
  rowsParameter,
  timeframeParameter,
} from '../../../contracts/parameters.ts'
import { type SeriesHistory, seriesHistorySchema } from '../../../contracts/series-history.ts'
import type { SeriesHistoryQuery } from '../../analyst/index.ts'
import { operationsOf } from '../openapi/operation.ts'
import { signalOfLeaving } from '../waits.ts'

export interface SeriesRoutesOptions {
  /** @throws ServiceError `store_unavailable` */
  readonly seriesHistory: (query: SeriesHistoryQuery, signal: AbortSignal) => Promise<SeriesHistory>
}

export const seriesParams = z.strictObject({
  exchange: exchangeParameter,
  coin: coinParameter,
  timeframe: timeframeParameter,
})

const cursor = z
  .string()
  .regex(/^\d{1,15}\.\d{1,15}$/, 'must be the `next` of an answer')
  .transform((text) => {
    const [verdict = 0, outcome = 0] = text.split('.').map(Number)
    return { verdict, outcome }
  })
  .optional()

const querySchema = z.strictObject({
  after: cursor.describe('Older rows: the `next` of the answer before'),
  limit: rowsParameter(LIMITS.historyRows, 100),
})

/**
 * `GET /api/series/:exchange/:coin/:timeframe`: the verdicts of one series with what became of them, newest first.
 * Open to all; on a live market without those whose window is open.
 */
export const seriesRoutes: FastifyPluginAsyncZod<SeriesRoutesOptions> = async (app, options) => {
  const schema = {
    operation: operationsOf({ tag: 'verdicts' })(
      'seriesHistory',
      'The verdicts of one series with what became of them, newest first',
      {
        description:
          'On a live market a verdict is shown once its window has closed. Of all series together, in the order of the log: `GET /api/verdicts`.',
        errors: ['store_unavailable'],
      },
    ),
    params: seriesParams,
    querystring: querySchema,
    response: { 200: seriesHistorySchema },
  }
  app.get('/api/series/:exchange/:coin/:timeframe', { schema }, async (request, reply) => {
    reply.header('cache-control', 'public, max-age=5')
    return options.seriesHistory({ series: request.params, ...request.query }, signalOfLeaving(reply))
  })
}
