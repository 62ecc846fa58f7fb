import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { boardAnswerSchema } from '../../../contracts/answers/board.ts'
import {
  regimeShiftsAnswerSchema,
  type SeriesHistory,
  seriesHistorySchema,
} from '../../../contracts/answers/history.ts'
import {
  coinParameter,
  exchangeParameter,
  pageCursor,
  rowsParameter,
  timeframeParameter,
} from '../../../contracts/answers/parameters.ts'
import { isExchange } from '../../../contracts/domain/series.ts'
import { CALLS } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { regimeShiftsRequest } from '../../../contracts/tools/free-tools.ts'
import type { Board, RegimeShiftPage, RegimeShiftQuery, SeriesHistoryQuery } from '../../analyst/index.ts'
import { openRoutes } from '../add-routes.ts'
import { operation } from '../openapi.ts'
import { signalOfLeaving } from '../request-signal.ts'

/** The shifts of a series, from the read model of this process. */
export type RegimeShiftReader = (query: Omit<RegimeShiftQuery, 'now'>) => RegimeShiftPage

export interface HistoryRoutesOptions {
  readonly regimeShifts: RegimeShiftReader
  /** @throws ServiceError `store_unavailable` if this process keeps no read models */
  readonly board: Board
  /** @throws ServiceError `store_unavailable` */
  readonly seriesHistory: (query: SeriesHistoryQuery, signal: AbortSignal) => Promise<SeriesHistory>
}

export const boardFilters = {
  exchange: exchangeParameter.optional(),
  coin: coinParameter.optional(),
  timeframe: timeframeParameter.optional(),
  call: z.enum(CALLS).optional().describe('Rows whose newest shown verdict is this call'),
}
export const seriesParams = z.strictObject({
  exchange: exchangeParameter,
  coin: coinParameter,
  timeframe: timeframeParameter,
})

/** The newest state of every series, the verdicts of one, and the shifts of its regime. Open to all. */
export const historyRoutes: FastifyPluginAsync<HistoryRoutesOptions & RegimeHistory> = async (
  app,
  options,
) => {
  const on = openRoutes(app)
  on('GET /api/board', {
    ...operation('verdicts', 'board', 'The regime and the newest verdicts of every series'),
    description:
      'On a live market a verdict is shown once its window has closed; fresh ones are answered by the tools. On others it is shown at once.',
    cache: 'public, max-age=1',
    querystring: z.strictObject({
      ...boardFilters,
      after: pageCursor(/^\d{1,7}$/)
        .transform(Number)
        .default(0),
      limit: rowsParameter(LIMITS.boardRows, 100),
    }),
    response: { 200: boardAnswerSchema },
    handle: (_request, { after: skip, ...filters }) => options.board.read({ ...filters, skip }).answer,
  })
  on('GET /api/series/:exchange/:coin/:timeframe', {
    ...operation('verdicts', 'seriesHistory', 'The verdicts of one series with their outcomes, newest first'),
    description:
      'On a live market a verdict is shown once its window has closed. `GET /api/verdicts` has all series together, in the order of the log.',
    cache: 'public, max-age=5',
    params: seriesParams,
    querystring: z.strictObject({
      after: pageCursor(/^\d{1,15}\.\d{1,15}$/)
        .transform((text) => {
          const [verdict = 0, outcome = 0] = text.split('.').map(Number)
          return { verdict, outcome }
        })
        .optional(),
      limit: rowsParameter(LIMITS.historyRows, 100),
    }),
    response: { 200: seriesHistorySchema },
    handle: (_request, { after, limit, ...series }, reply) =>
      options.seriesHistory({ series, after, limit }, signalOfLeaving(reply)),
  })
  on('GET /api/regime-shifts', {
    ...operation('verdicts', 'regimeShifts', 'When the regime of a series shifted, newest first'),
    description:
      'A series shifts when the regime of a verdict differs from that of the verdict before it. A shift is shown once the window of its verdict has closed.',
    querystring: regimeShiftsRequest.extend({ limit: rowsParameter(LIMITS.trackRecordRows) }),
    response: { 200: regimeShiftsAnswerSchema },
    handle: (_request, query) => regimeHistory(options, query),
  })
}

const NOTICE =
  'Shifts of the regime, each from the verdict before it in the series, once the window of its verdict has closed. A regime describes what was, and is no forecast. It is information, not advice.'

interface RegimeHistory extends Pick<HistoryRoutesOptions, 'regimeShifts'> {
  /** Exchanges that are followed; the first is asked if none is named. */
  readonly exchanges: () => readonly string[]
}

/** A page of the regimes of a series, as every channel answers it. */
export function regimeHistory(
  { regimeShifts: read, exchanges }: RegimeHistory,
  { exchange: named, after, limit, ...market }: z.output<typeof regimeShiftsRequest>,
): z.infer<typeof regimeShiftsAnswerSchema> {
  const exchange = named ?? exchanges()[0]
  // A process that follows nothing itself has no first one.
  if (exchange === undefined || !isExchange(exchange))
    throw new ServiceError('invalid_request', { message: 'exchange: is missing' })
  const before = after === undefined ? {} : { before: Number(after) }
  const page = read({ series: { exchange, ...market }, limit, ...before })
  const next = page.next === undefined ? null : String(page.next)
  return { notice: NOTICE, as_of: page.asOf, rows: [...page.rows], next }
}
