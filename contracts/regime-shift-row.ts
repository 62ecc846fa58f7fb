import { z } from 'zod'
import { nextSchema } from './cursor.ts'
import { exchangeSchema } from './exchanges.ts'
import { regimeSchema } from './regime.ts'
import { coinSchema } from './series.ts'
import { timeframeSchema } from './timeframes.ts'

/** A change of the regime of a series. */
export const regimeShiftRowSchema = z.object({
  exchange: exchangeSchema,
  coin: coinSchema,
  timeframe: timeframeSchema,
  bar_close: z.iso.datetime().describe('ISO 8601, UTC: close of the bar with which it came'),
  regime: regimeSchema,
  prior_regime: regimeSchema,
  confidence: z.int().describe('Of the verdict with which it came'),
  verdict_id: z.uuid(),
})

export type RegimeShiftRow = z.infer<typeof regimeShiftRowSchema>

export const regimeShiftsAnswerSchema = z.object({
  notice: z.string(),
  as_of: z.string().describe('Position in the log up to which shifts are known'),
  rows: z.array(regimeShiftRowSchema),
  next: nextSchema,
})
