import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { isExchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  coinParameter,
  exchangeParameter,
  rowsParameter,
  timeframeParameter,
} from '../../../contracts/parameters.ts'
import { regimeShiftsAnswerSchema } from '../../../contracts/regime-shift-row.ts'
import type { Series } from '../../../contracts/series.ts'
import type { RegimeShiftPage, RegimeShiftQuery } from '../../analyst/index.ts'
import { operationsOf } from '../openapi/operation.ts'

/** The shifts of a series, from the read model of this process. */
export type RegimeShiftReader = (query: Omit<RegimeShiftQuery, 'now'>) => RegimeShiftPage

type RegimeShiftsAnswer = z.infer<typeof regimeShiftsAnswerSchema>

const NOTICE =
  'Shifts of the regime, each from the verdict before it in the series, once the window of its verdict has closed. A regime describes what was, and is no forecast. It is information, not advice.'

interface RegimesAsked extends Omit<Series, 'exchange'> {
  readonly exchange?: Series['exchange'] | undefined
  readonly limit: number
  readonly after?: string | undefined
}

/** A page of the history of a series' regimes, as every channel tells it. */
export function regimeHistory(
  { regimeShifts: read, exchanges }: RegimeHistory,
  { exchange: asked, after, limit, ...market }: RegimesAsked,
): RegimeShiftsAnswer {
  const exchange = asked ?? exchanges()[0]
  // A process that follows nothing itself has no first one.
  if (exchange === undefined || !isExchange(exchange))
    throw new ServiceError('invalid_request', { message: 'exchange: is missing' })
  const series = { exchange, ...market }
  const page = read({ series, limit, ...(after !== undefined && { before: Number(after) }) })
  const next = page.next === undefined ? null : String(page.next)
  return { notice: NOTICE, as_of: page.asOf, rows: [...page.rows], next }
}

export interface RegimeShiftRoutesOptions {
  readonly regimeShifts: RegimeShiftReader
}

/** The history, and the exchanges that it is of. */
interface RegimeHistory extends RegimeShiftRoutesOptions {
  /** Exchanges that are followed; the first is asked where none is named. */
  readonly exchanges: () => readonly string[]
}

const querySchema = z.strictObject({
  exchange: exchangeParameter.optional().describe('The first that is followed where it is left out'),
  coin: coinParameter,
  timeframe: timeframeParameter.default('4h'),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the `next` of an answer')
    .optional()
    .describe('Older rows, after these: the `next` of the answer before'),
  limit: rowsParameter(LIMITS.trackRecordRows),
})

/** `GET /api/regime-shifts`: when the regime of a series shifted, newest first. Open to all. */
export const regimeShiftRoutes: FastifyPluginAsyncZod<RegimeHistory> = async (app, options) => {
  const schema = {
    operation: operationsOf({ tag: 'verdicts' })(
      'regimeShifts',
      'When the regime of a series shifted, newest first',
      {
        description:
          'A series has shifted where the regime of a verdict differs from that of the verdict before it. A shift is shown once the window of its verdict has closed.',
        errors: ['store_unavailable'],
        parameters: { coin: 'Coin symbol', timeframe: 'Length of one bar' },
      },
    ),
    querystring: querySchema,
    response: { 200: regimeShiftsAnswerSchema },
  }
  app.get('/api/regime-shifts', { schema }, async ({ query }) => regimeHistory(options, query))
}
