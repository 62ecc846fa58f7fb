import { z } from 'zod'
import { nextSchema } from './cursor.ts'
import { count } from './field-schemas.ts'
import { coinSchema } from './series.ts'

const share = z.number().nullable()

/** Results of a coin's calls over all its series of a model: of each series the calls whose windows do not overlap. */
export const recordCoinSchema = z.object({
  model_version: z.string(),
  coin: coinSchema,
  series: count.describe('Exchanges and timeframes that are pooled'),
  verdicts: count.describe('Labelled verdicts, HOLD included'),
  calls: count,
  reached: count.describe('Races that reached a barrier'),
  wins: count,
  win_rate: z
    .object({ value: z.number(), low: z.number(), high: z.number() })
    .nullable()
    .describe(
      'Of `reached`, with the ends of its 95 % interval: too narrow where several series are pooled, since they overlap',
    ),
  trades: count.describe('Calls whose return is known'),
  net_mean_bps: z.number().nullable().describe('Basis points a call, 12 for entering and leaving taken off'),
  always_buy: share.describe('Win rate of always BUY on the same bars'),
  always_sell: share.describe('The same of always SELL'),
  random: share.describe('What a fair coin can expect on the same bars'),
})

export type RecordCoin = z.infer<typeof recordCoinSchema>

export const recordCoinsSchema = z.object({ rows: z.array(recordCoinSchema), next: nextSchema })

export type RecordCoinsAnswer = z.infer<typeof recordCoinsSchema>
