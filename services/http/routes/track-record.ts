import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  coinParameter,
  exchangeParameter,
  keyCursor,
  keyCursorParameter,
  rowsParameter,
  timeframeParameter,
} from '../../../contracts/parameters.ts'
import { type RecordCoin, recordCoinsSchema } from '../../../contracts/record-coin.ts'
import { type RecordMonth, recordMonthsSchema } from '../../../contracts/record-month.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import { type SpeechAnswerRow, trackRecordAnswerSchema } from '../../../contracts/track-record-row.ts'
import type { TrackRecordPage, TrackRecordQuery } from '../../analyst/index.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { operation } from '../openapi.ts'

export interface TrackRecordRoutesOptions {
  readonly trackRecord: (query: TrackRecordQuery) => TrackRecordPage
  readonly recordMonths: (query: {
    readonly timeframe?: Timeframe | undefined
    readonly limit: number
  }) => RecordMonth[]
  /** By coin, in the order of models and coins: a look at the record of every series. */
  readonly recordCoins: (query: { readonly timeframe?: Timeframe | undefined }) => RecordCoin[]
  /** How each model does of late. */
  readonly speech: () => SpeechAnswerRow[]
}

const NOTICE =
  'Every recorded verdict whose window has closed is counted, HOLD included, and none is dropped. The numbers describe the past of this market, after assumed costs of 12 basis points a round trip. They are information, not advice.'

const rowsAtMost = rowsParameter(LIMITS.trackRecordRows)

const querySchema = z.strictObject({
  exchange: exchangeParameter.optional(),
  coin: coinParameter.optional(),
  timeframe: timeframeParameter.optional(),
  model_version: z.string().min(1).max(64).optional().describe('Verdicts of this model only'),
  group_by: z
    .enum(['series', 'timeframe'])
    .default('timeframe')
    .describe('Pooled per timeframe, or one row per series'),
  after: keyCursorParameter,
  limit: rowsAtMost,
})

const months = {
  ...operation('verdicts', 'trackRecordMonths', 'The returns of the calls of each month, beside baselines'),
  querystring: z.strictObject({ timeframe: timeframeParameter.optional() }),
  response: { 200: recordMonthsSchema },
}
const coins = {
  ...operation('verdicts', 'trackRecordCoins', 'The returns of the calls of each coin, beside baselines'),
  querystring: z.strictObject({
    timeframe: timeframeParameter.optional(),
    after: keyCursorParameter,
    limit: rowsAtMost,
  }),
  response: { 200: recordCoinsSchema },
}
const pooled = {
  ...operation(
    'verdicts',
    'trackRecord',
    'The outcomes of all recorded verdicts by model, beside baselines',
    {
      description: '`exchange` and `coin` need `group_by=series`.',
    },
  ),
  querystring: querySchema,
  response: { 200: trackRecordAnswerSchema },
}

/**
 * `GET /api/track-record`: how the verdicts of every model did, pooled per timeframe or per series, beside what the
 * constants and a coin would have done. Open to all.
 */
export const trackRecordRoutes: FastifyPluginAsyncZod<TrackRecordRoutesOptions> = async (app, options) => {
  app.get('/api/track-record', { schema: pooled }, async ({ query }, reply) => {
    const { exchange, coin, timeframe, model_version: modelVersion, after, limit, group_by: groupBy } = query
    if (groupBy === 'timeframe' && (exchange !== undefined || coin !== undefined)) {
      throw new ServiceError('invalid_request', {
        message:
          'group_by: with `exchange` or `coin` ask for `group_by=series`; a timeframe is pooled over all series',
      })
    }
    const page = options.trackRecord({
      groupBy,
      limit,
      ...(exchange && { exchange }),
      ...(coin && { coin }),
      ...(timeframe && { timeframe }),
      ...(modelVersion && { modelVersion }),
      ...(after && { after }),
    })
    reply.header('cache-control', 'public, max-age=60')
    const speech = after === undefined ? options.speech().filter(isAskedFor(query)) : []
    return { notice: NOTICE, as_of: page.asOf, rows: page.rows, speech, next: keyCursor(page.next) }
  })

  app.get('/api/track-record/months', { schema: months }, async ({ query }, reply) => {
    reply.header('cache-control', 'public, max-age=60')
    return { rows: options.recordMonths({ ...query, limit: LIMITS.trackRecordMonths }) }
  })

  const counted = new RecentMap<string, readonly RecordCoin[]>(64, {
    ttlMs: COINS_KEPT_MS,
    now: () => performance.now(),
  })
  app.get('/api/track-record/coins', { schema: coins }, async ({ query }, reply) => {
    const { timeframe, after = '', limit } = query
    const key = timeframe ?? ''
    if (!counted.has(key)) counted.set(key, options.recordCoins({ timeframe }))
    const rest = (counted.get(key) ?? []).filter((row) => coinPlace(row) > after)
    const rows = rest.slice(0, limit)
    const last = rest.length > limit ? rows.at(-1) : undefined
    reply.header('cache-control', 'public, max-age=60')
    return { rows, next: keyCursor(last && coinPlace(last)) }
  })
}

/** A row of the coins by its place, as in `barrier-4 BTC`. */
const coinPlace = ({ model_version: version, coin }: RecordCoin): string => `${version} ${coin}`

/** Requests within this time share one count. */
const COINS_KEPT_MS = 10_000

const isAskedFor =
  ({ timeframe, model_version: version }: z.output<typeof querySchema>) =>
  (row: SpeechAnswerRow): boolean =>
    (timeframe === undefined || timeframe === row.timeframe) &&
    (version === undefined || version === row.model_version)
