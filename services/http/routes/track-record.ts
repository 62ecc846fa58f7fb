import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import {
  coinParameter,
  exchangeParameter,
  keyCursor,
  keyCursorParameter,
  rowsParameter,
  timeframeParameter,
} from '../../../contracts/answers/parameters.ts'
import {
  type RecordCoin,
  type RecordMonth,
  recordCoinsSchema,
  recordMonthsSchema,
  type SpeechAnswerRow,
  trackRecordAnswerSchema,
} from '../../../contracts/answers/track-record.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { TrackRecordPage, TrackRecordQuery } from '../../analyst/index.ts'
import { openRoutes } from '../add-routes.ts'
import { memoizeFor } from '../memoize-for.ts'
import { operation } from '../openapi.ts'

export interface TrackRecordRoutesOptions {
  readonly trackRecord: (query: TrackRecordQuery) => TrackRecordPage
  readonly recordMonths: (query: {
    readonly timeframe?: Timeframe | undefined
    readonly limit: number
  }) => RecordMonth[]
  /** By coin, in the order of models and coins: it reads the record of every series. */
  readonly recordCoins: (query: { readonly timeframe?: Timeframe | undefined }) => RecordCoin[]
  /** How each model does of late. */
  readonly speech: () => SpeechAnswerRow[]
}

const NOTICE =
  'Every recorded verdict whose window has closed is counted, HOLD included, and none is dropped. The numbers describe the past of this market, after assumed costs of 12 basis points a round trip. They are information, not advice.'

const cache = 'public, max-age=60'
const timeframe = timeframeParameter.optional()
const page = { after: keyCursorParameter, limit: rowsParameter(LIMITS.trackRecordRows) }
/** Requests for coins within this time share one count. */
const COINS_CACHED_MS = 10_000

/** A row of the coins by its place, as in `barrier-4 BTC`. */
const coinPlace = ({ model_version: version, coin }: RecordCoin): string => `${version} ${coin}`

/** `/api/track-record`: how the verdicts of every model did, beside what constants and a coin would have done. Open to all. */
export const trackRecordRoutes: FastifyPluginAsync<TrackRecordRoutesOptions> = async (app, options) => {
  const on = openRoutes(app)
  on('GET /api/track-record', {
    ...operation(
      'verdicts',
      'trackRecord',
      'The outcomes of all recorded verdicts by model, beside baselines',
    ),
    description: '`exchange` and `coin` need `group_by=series`.',
    cache,
    querystring: z.strictObject({
      exchange: exchangeParameter.optional(),
      coin: coinParameter.optional(),
      timeframe,
      model_version: z.string().min(1).max(64).optional().describe('Verdicts of this model only'),
      group_by: z
        .enum(['series', 'timeframe'])
        .default('timeframe')
        .describe('Pooled per timeframe, or one row per series'),
      ...page,
    }),
    response: { 200: trackRecordAnswerSchema },
    handle: (_request, { model_version: modelVersion, group_by: groupBy, ...query }) => {
      if (groupBy === 'timeframe' && (query.exchange !== undefined || query.coin !== undefined))
        throw new ServiceError('invalid_request', {
          message:
            'group_by: with `exchange` or `coin` ask for `group_by=series`; a timeframe is pooled over all series',
        })
      const { asOf, rows, next } = options.trackRecord({ ...query, groupBy, modelVersion })
      const speech = (query.after === undefined ? options.speech() : []).filter(
        (row) =>
          (query.timeframe ?? row.timeframe) === row.timeframe &&
          (modelVersion ?? row.model_version) === row.model_version,
      )
      return { notice: NOTICE, as_of: asOf, rows, speech, next: keyCursor(next) }
    },
  })
  on('GET /api/track-record/months', {
    ...operation('verdicts', 'trackRecordMonths', 'The returns of the calls of each month, beside baselines'),
    cache,
    querystring: z.strictObject({ timeframe }),
    response: { 200: recordMonthsSchema },
    handle: (_request, query) => ({
      rows: options.recordMonths({ ...query, limit: LIMITS.trackRecordMonths }),
    }),
  })
  const coinsOf = new Map(
    [undefined, ...TIMEFRAMES].map((of) => [
      of,
      memoizeFor(COINS_CACHED_MS, () => options.recordCoins({ timeframe: of })),
    ]),
  )
  on('GET /api/track-record/coins', {
    ...operation('verdicts', 'trackRecordCoins', 'The returns of the calls of each coin, beside baselines'),
    cache,
    querystring: z.strictObject({ timeframe, ...page }),
    response: { 200: recordCoinsSchema },
    handle: (_request, { timeframe: of, after = '', limit }) => {
      const rest = (coinsOf.get(of)?.() ?? []).filter((row) => coinPlace(row) > after)
      const rows = rest.slice(0, limit)
      const last = rest.length > limit ? rows.at(-1) : undefined
      return { rows, next: keyCursor(last && coinPlace(last)) }
    },
  })
}
