import { z } from 'zod'
import { candleSchema, fundingRateSchema } from '../domain/candle.ts'
import { seriesSchema } from '../domain/series.ts'
import { marketKindSchema } from '../events/event-catalogue.ts'
import { timeMs } from '../infra/field-schemas.ts'
import { nextSchema } from './parameters.ts'

/** The answer of `GET /api/bars`. Times are Unix milliseconds, as what is computed from them is exact. */
export const barsAnswerSchema = seriesSchema.extend({
  market: marketKindSchema,
  source: z.string().describe('Where the bars come from'),
  from: timeMs.describe('First open that was asked for'),
  to: timeMs.describe('Bars open before this instant'),
  bars: z.array(candleSchema).describe('Closed bars in the order of their open time'),
  gaps: z
    .array(z.object({ from: timeMs, to: timeMs }))
    .describe('Open of the first missing bar, and of the next that is there'),
  funding: z.array(fundingRateSchema).describe('Settlements in the same time, oldest first'),
  next: nextSchema,
})
export type BarsAnswer = z.infer<typeof barsAnswerSchema>
/** The same with the open of the first bar of the next page, Unix milliseconds. */
export type BarsPage = Omit<BarsAnswer, 'next'> & { readonly next: number | null }
