import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'
import { coinParameter, exchangeParameter, timeframeParameter } from '../../../contracts/parameters.ts'
import { regimeShiftsAnswerSchema } from '../../../contracts/regime-shift-row.ts'
import { type RegimeShiftReader, regimeHistory } from '../regime-history.ts'

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
    .optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.trackRecordRows).default(LIMITS.trackRecordRows),
})

/**
 * `GET /api/regime-shifts`: when the regime of a series shifted, newest first. Open to all.
 *
 * @example curl 'http://127.0.0.1:8402/api/regime-shifts?exchange=SIM&coin=BTC&timeframe=1h'
 */
export const regimeShiftRoutes: FastifyPluginAsyncZod<RegimeShiftRoutesOptions> = async (app, options) => {
  const schema = { querystring: querySchema, response: { 200: regimeShiftsAnswerSchema } }
  app.get('/api/regime-shifts', { schema }, async ({ query }) => regimeHistory(options.regimeShifts, query))
}
