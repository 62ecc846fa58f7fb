import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { barsAnswerSchema } from '../../../contracts/answers/bars.ts'
import {
  type MarketRow,
  marketCursor,
  marketCursorSchema,
  marketsAnswerSchema,
} from '../../../contracts/answers/markets.ts'
import {
  coinParameter,
  exchangeParameter,
  pageCursor,
  rowsParameter,
  timeParameter,
} from '../../../contracts/answers/parameters.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import type { Coin, Exchange, Market, Series } from '../../../contracts/domain/series.ts'
import type { Timeframe } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { MarketKind } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ReadBars } from '../../market/index.ts'
import { openRoutes } from '../add-routes.ts'
import { siteOf } from '../client-address.ts'
import { operation } from '../openapi.ts'
import { signalOfLeaving } from '../request-signal.ts'
import { seriesParams } from './history.ts'

/**
 * The markets and their freshness. With the engine role they come from the feed and the board, without it from the latest
 * recorded verdicts.
 */
export interface MarketsSource {
  /** Every market that can be asked for, each once, in any order; timeframes shortest first. */
  markets(): Promise<readonly (Market & { readonly timeframes: readonly Timeframe[] })[]>
  /** Close of the newest bar of a series, Unix milliseconds; undefined if none is known. */
  newestBar(series: Series): number | undefined
  /** Whether the log has a verdict of the exchange, or of the coin on it; undefined if this process does not know. */
  isRecorded(exchange: Exchange, coin?: Coin): boolean | undefined
  /** Undefined if this process does not know. */
  isMonitored(series: Series): boolean | undefined
  /** Market time, Unix milliseconds. */
  clock(): number
}

export interface MarketRoutesOptions {
  readonly market: MarketKind
  readonly markets: MarketsSource
  /** Left out, bars are not served. */
  readonly bars?: ReadBars | undefined
}

/** `GET /api/markets`, and `GET /api/bars`: the bars that verdicts stand on, with their gaps and funding. Open to all. */
export const marketRoutes: FastifyPluginAsync<MarketRoutesOptions> = async (app, options) => {
  const { market, markets, bars } = options
  const on = openRoutes(app)
  on('GET /api/markets', {
    ...operation('markets', 'markets', 'Exchanges, coins and timeframes, and how fresh each is'),
    cache: 'public, max-age=5',
    querystring: z.strictObject({
      exchange: exchangeParameter.optional(),
      coin: coinParameter.optional(),
      after: marketCursorSchema.optional(),
      limit: rowsParameter(LIMITS.marketRows, 100, 'Markets'),
    }),
    response: { 200: marketsAnswerSchema },
    handle: async (_request, { exchange, coin, after, limit }) => {
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
      return {
        market,
        market_time: isoTime(now),
        exchanges: [...new Set(all.map((one) => one.exchange))].toSorted(),
        rows: page.map((one) => rowOf(one, markets, now)),
        next,
      }
    },
  })
  if (bars === undefined) return
  on('GET /api/bars', {
    ...operation('markets', 'bars', 'The bars that verdicts stand on, with their gaps and funding'),
    description:
      'As the market has them now. With the bars from `anchor_bar` on, `signal verify --recompute` computes a verdict again.',
    cache: 'no-store',
    querystring: seriesParams.extend({
      from: timeParameter.describe('Bars that open at this instant or later: ISO 8601, or Unix milliseconds'),
      to: timeParameter.describe('Bars that open before this instant'),
      after: pageCursor(/^\d{1,15}$/, 'Later bars').optional(),
    }),
    response: { 200: barsAnswerSchema },
    handle: async (request, { from: first, to, after, ...series }, reply) => {
      const from = after === undefined ? first : Number(after)
      if (from >= to) throw new ServiceError('invalid_request', { message: 'from: must be before to' })
      const page = await bars({ series, from, to }, signalOfLeaving(reply), siteOf(request))
      return { ...page, next: page.next === null ? null : String(page.next) }
    },
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
