import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { assert } from '../../../contracts/assert.ts'
import { type BarsPage, barsAnswerSchema } from '../../../contracts/bars-answer.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { timeParameter } from '../../../contracts/instant-parameter.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  type MarketRow,
  marketCursor,
  marketCursorSchema,
  marketsAnswerSchema,
} from '../../../contracts/markets.ts'
import {
  coinParameter,
  exchangeParameter,
  rowsParameter,
  timeframeParameter,
} from '../../../contracts/parameters.ts'
import type { Coin, Market, Series } from '../../../contracts/series.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import { addressSite, type CallerOptions } from '../client-address.ts'
import { operation } from '../openapi.ts'
import { signalOfLeaving } from '../request-signal.ts'

/**
 * The markets and their freshness. With the engine role they come from the feed and the board, without it from the latest
 * recorded verdicts.
 */
export interface MarketsSource {
  /** Every market that can be asked for, each once, in any order; timeframes shortest first. */
  markets(): Promise<readonly (Market & { readonly timeframes: readonly Timeframe[] })[]>
  /** Close of the newest bar of a series, Unix milliseconds; undefined where none is known. */
  newestBar(series: Series): number | undefined
  /** Whether the log has a verdict of the exchange, or of the coin on it; undefined where this process does not know. */
  isRecorded(exchange: Exchange, coin?: Coin): boolean | undefined
  /** Undefined where this process does not know. */
  isMonitored(series: Series): boolean | undefined
  /** Market time, Unix milliseconds. */
  clock(): number
}

export interface MarketRoutesOptions {
  readonly market: MarketKind
  readonly markets: MarketsSource
}

const querySchema = z.strictObject({
  exchange: exchangeParameter.optional(),
  coin: coinParameter.optional(),
  after: marketCursorSchema.optional(),
  limit: rowsParameter(LIMITS.marketRows, 100, 'Markets'),
})

const barsQuery = z.strictObject({
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

export interface BarsRoutesOptions {
  /**
   * Bars that open in [from, to).
   *
   * @param asker the site of the caller's address; sites take turns
   * @throws ServiceError `market_data_missing`, `venue_unavailable`, `rate_limited`
   */
  readonly bars: (
    query: { readonly series: Series; readonly from: number; readonly to: number },
    signal: AbortSignal,
    asker: string,
  ) => Promise<BarsPage>
}

/** `GET /api/bars`: the bars that verdicts stand on, with their gaps and the funding settled in them. Open to all. */
export const barsRoutes: FastifyPluginAsyncZod<BarsRoutesOptions & CallerOptions> = async (app, options) => {
  const schema = {
    ...operation('markets', 'bars', 'The bars that verdicts stand on, with their gaps and funding', {
      description:
        'As the market has them now. With the bars from `anchor_bar` on, `signal verify --recompute` computes a verdict again.',
    }),
    querystring: barsQuery,
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

/**
 * `GET /api/markets`: the exchanges, coins and timeframes that can be asked for, and how fresh each is. Open to all.
 */
export const marketRoutes: FastifyPluginAsyncZod<MarketRoutesOptions> = async (app, { market, markets }) => {
  const schema = {
    ...operation('markets', 'markets', 'Exchanges, coins and timeframes, and how fresh each is'),
    querystring: querySchema,
    response: { 200: marketsAnswerSchema },
  }
  app.get('/api/markets', { schema }, async ({ query }, reply) => {
    const { exchange, coin, after, limit } = query
    const all = await markets.markets()
    const found = all
      .filter((one) => (exchange ?? one.exchange) === one.exchange && (coin ?? one.coin) === one.coin)
      .map((one) => ({ ...one, cursor: marketCursor(one) }))
      .filter(({ cursor }) => after === undefined || cursor > after)
      .toSorted((a, b) => (a.cursor < b.cursor ? -1 : 1))
    const page = found.slice(0, limit)
    const now = markets.clock()
    const next = found.length > page.length ? (page.at(-1)?.cursor ?? null) : null
    assert(next === null || next > (after ?? ''), 'a cursor of markets advances', next ?? '')
    reply.header('cache-control', 'public, max-age=5')
    return {
      market,
      market_time: isoTime(now),
      exchanges: [...new Set(all.map((one) => one.exchange))].toSorted(),
      rows: page.map((one) => rowOf(one, markets, now)),
      next,
    }
  })
}

function rowOf(
  { exchange, coin, timeframes }: Market & { readonly timeframes: readonly Timeframe[] },
  source: MarketsSource,
  now: number,
): MarketRow {
  return {
    exchange,
    coin,
    timeframes: timeframes.map((timeframe) => {
      const series = { exchange, coin, timeframe }
      const barClose = source.newestBar(series)
      return {
        timeframe,
        is_monitored: source.isMonitored(series) ?? null,
        bar_close: barClose === undefined ? null : isoTime(barClose),
        data_age_ms: barClose === undefined ? null : Math.max(0, Math.round(now - barClose)),
      }
    }),
  }
}
