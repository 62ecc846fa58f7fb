import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { assert } from '../../../contracts/assert.ts'
import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  type MarketRow,
  marketCursor,
  marketCursorSchema,
  marketsAnswerSchema,
} from '../../../contracts/markets.ts'
import { coinParameter, exchangeParameter, rowsParameter } from '../../../contracts/parameters.ts'
import type { Coin, Market, Series } from '../../../contracts/series.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import { operationsOf } from '../openapi/operation.ts'

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

const operation = operationsOf({ tag: 'markets' })(
  'markets',
  'Exchanges, coins and timeframes, and how fresh each is',
  {
    errors: ['venue_unavailable', 'market_data_missing', 'market_data_damaged'],
    parameters: { exchange: 'One exchange', coin: 'One coin' },
    example: {
      market: 'simulated',
      market_time: '2026-11-21T04:30:29.087Z',
      exchanges: ['SIM'],
      rows: [
        {
          exchange: 'SIM',
          coin: 'BTC',
          timeframes: [
            {
              timeframe: '1h',
              is_monitored: true,
              bar_close: '2026-11-21T04:00:00.000Z',
              data_age_ms: 1_829_087,
            },
          ],
        },
      ],
      next: null,
    },
  },
)

/**
 * `GET /api/markets`: the exchanges, coins and timeframes that can be asked for, and how fresh each is. Open to all.
 */
export const marketRoutes: FastifyPluginAsyncZod<MarketRoutesOptions> = async (app, { market, markets }) => {
  const schema = { operation, querystring: querySchema, response: { 200: marketsAnswerSchema } }
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
