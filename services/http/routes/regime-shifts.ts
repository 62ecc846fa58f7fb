import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
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

/** A page of the history of a series' regimes, as every channel tells it. */
export function regimeHistory(
  read: RegimeShiftReader,
  { after, limit, ...series }: Series & { readonly limit: number; readonly after?: string | undefined },
): RegimeShiftsAnswer {
  const page = read({ series, limit, ...(after !== undefined && { before: Number(after) }) })
  const next = page.next === undefined ? null : String(page.next)
  return { notice: NOTICE, as_of: page.asOf, rows: [...page.rows], next }
}

export interface RegimeShiftRoutesOptions {
  readonly regimeShifts: RegimeShiftReader
}

const querySchema = z.strictObject({
  exchange: exchangeParameter,
  coin: coinParameter,
  timeframe: timeframeParameter,
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the `next` of an answer')
    .optional()
    .describe('Older rows, after these: the `next` of the answer before'),
  limit: rowsParameter(LIMITS.trackRecordRows),
})

/** `GET /api/regime-shifts`: when the regime of a series shifted, newest first. Open to all. */
export const regimeShiftRoutes: FastifyPluginAsyncZod<RegimeShiftRoutesOptions> = async (app, options) => {
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
  app.get('/api/regime-shifts', { schema }, async ({ query }) => regimeHistory(options.regimeShifts, query))
}
