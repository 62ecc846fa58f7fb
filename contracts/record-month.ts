import { z } from 'zod'
import { count } from './field-schemas.ts'
import { timeframeSchema } from './timeframes.ts'

const sum = z.number().describe('Sum over the trades, basis points of one unit each, 12 per trade taken off')

/** Results of a month's calls, of each series the calls whose windows do not overlap. */
export const recordMonthSchema = z.object({
  model_version: z.string(),
  timeframe: timeframeSchema,
  month: z.string().describe('Of the bars, as 2026-01'),
  calls: count,
  reached: count.describe('Races that reached a barrier'),
  wins: count,
  trades: count.describe('Calls whose return is known'),
  net_bps: sum,
  always_buy_bps: sum,
  always_sell_bps: sum,
  random_bps: sum.describe('What a fair coin can expect on the same bars'),
  forecasts: count.describe('Verdicts with a range, HOLD included, whose window closed with all its bars'),
  within_80: count.describe('Of those, prices that ended from p10 to p90, where four of five are expected'),
  within_50: count.describe('From p25 to p75, where half are expected'),
})

export type RecordMonth = z.infer<typeof recordMonthSchema>

export const recordMonthsSchema = z.object({ rows: z.array(recordMonthSchema) })
