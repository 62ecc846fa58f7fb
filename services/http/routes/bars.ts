import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type BarsPage, barsAnswerSchema } from '../../../contracts/bars-answer.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { timeParameter } from '../../../contracts/instant-parameter.ts'
import { coinParameter, exchangeParameter, timeframeParameter } from '../../../contracts/parameters.ts'
import type { Series } from '../../../contracts/series.ts'
import { addressSite } from '../client-address.ts'
import { operationsOf } from '../openapi/operation.ts'
import { signalOfLeaving } from '../waits.ts'
import type { CallerOptions } from './verdicts.ts'

export interface BarsRoutesOptions {
  /**
   * Bars that open in [from, to).
   *
   * @param asker who asks; addresses take turns
   * @throws ServiceError `market_data_missing`, `venue_unavailable`, `rate_limited`
   */
  readonly bars: (
    query: { readonly series: Series; readonly from: number; readonly to: number },
    signal: AbortSignal,
    asker: string,
  ) => Promise<BarsPage>
}

const querySchema = z.strictObject({
  exchange: exchangeParameter,
  coin: coinParameter,
  timeframe: timeframeParameter,
  from: timeParameter.describe('Bars that open at this instant or later: ISO 8601, or Unix milliseconds'),
  to: timeParameter.describe('Bars that open before this instant'),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the `next` of an answer')
    .optional()
    .describe('Later bars: the `next` of the answer before'),
})

/**
 * `GET /api/bars`: the bars that verdicts stand on, with the gaps in them and the funding settled meanwhile. Open to
 * all.
 */
export const barsRoutes: FastifyPluginAsyncZod<BarsRoutesOptions & CallerOptions> = async (app, options) => {
  const schema = {
    operation: operationsOf({ tag: 'markets' })(
      'bars',
      'The bars that verdicts stand on, with the gaps in them and the funding settled meanwhile',
      {
        description:
          'As the market has them now. With the bars from `anchor_bar` on, `signal verify --recompute` computes a verdict again.',
        errors: ['market_data_missing', 'market_data_damaged', 'venue_unavailable'],
        parameters: { exchange: 'One exchange', coin: 'One coin', timeframe: 'One timeframe' },
      },
    ),
    querystring: querySchema,
    response: { 200: barsAnswerSchema },
  }
  app.get('/api/bars', { schema }, async (request, reply) => {
    const { from: first, to, after, ...series } = request.query
    const from = after === undefined ? first : Number(after)
    if (from >= to) throw new ServiceError('invalid_request', { message: 'from: must be before to' })
    reply.header('cache-control', 'no-store')
    const asker = addressSite(options.addressOf(request))
    const page = await options.bars({ series, from, to }, signalOfLeaving(reply), asker)
    return { ...page, next: page.next === null ? null : String(page.next) }
  })
}
