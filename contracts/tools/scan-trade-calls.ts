import { z } from 'zod'
import { coinSchema, exchangeSchema } from '../domain/series.ts'
import { CALLING_TIMEFRAMES, timeframeSchema } from '../domain/timeframes.ts'
import { forecastFields } from '../domain/verdict.ts'
import { numberOrNull, percent, textOrNull } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { callFields, exchangeField, instantField, timeframeField } from './tool-fields.ts'

export const RANKINGS = [
  'strength',
  'expected_range',
  'expected_return',
  'volume',
  'confidence',
  'change',
] as const
export const LENSES = ['funding', 'gainers', 'losers', 'volume', 'volatility'] as const

export const scanTradeCallsRequest = z.strictObject({
  exchange: exchangeField.describe('Exchange code; left out, the first monitored'),
  timeframe: timeframeField(
    CALLING_TIMEFRAMES.find((timeframe) => timeframe === '1h') ?? CALLING_TIMEFRAMES[0] ?? '1h',
  ),
  top_n: z
    .int()
    .min(1)
    .max(LIMITS.scanCoins)
    .default(20)
    .describe('Coins to scan: the top of the exchange by volume'),
  min_confidence: percent.default(0).describe('Above 60 nothing passes'),
  include_holds: z.boolean().default(false).describe('Whether HOLDs have rows too'),
  limit: z.int().min(1).max(LIMITS.scanCoins).default(10).describe('Rows in the answer'),
  rank_by: z
    .enum(RANKINGS)
    .default('strength')
    .describe(
      'expected_range: p10 to p90, the farthest first; expected_return: refused, no model tells it; volume, change: of 24 hours, change up or down',
    ),
  lens: z.enum(LENSES).optional().describe('Ranks coins by this, in place of rank_by'),
  min_liquidity_usd: z.number().min(0).optional().describe('Least quote volume of 24 hours'),
})

export const scanRow = z.object({
  rank: z.int().positive(),
  coin: coinSchema,
  ...callFields,
  price: z.number(),
  change_24h: numberOrNull.describe('Change over 24 hours as a fraction; null where unknown'),
  quote_volume_24h: z.number().describe('Traded in 24 hours, in the quote currency'),
  lens_value: numberOrNull.describe(
    'What `lens` ranks by: funding as a yearly fraction, changes of 24 hours as fractions, volume in quote currency, volatility as 14-bar ATR in percent; null without a lens or where unknown',
  ),
  bar_close: instantField,
  valid_until: instantField,
  ...forecastFields,
  verdict_id: z.uuid(),
  verify_url: z.url(),
})

export const scanTradeCallsResponse = z.object({
  exchange: exchangeSchema,
  timeframe: timeframeSchema,
  completed_at: instantField.describe('Market time of the scan'),
  universe_ranked_at: instantField.describe('When coins were ranked; normally within the hour'),
  calls: z.array(scanRow),
  scanned: z.int().nonnegative().describe('Coins with a fresh verdict'),
  holds: z.int().nonnegative().describe('How many of them say HOLD'),
  errors: z
    .array(z.object({ coin: coinSchema, code: z.string(), message: z.string() }))
    .describe('Coins without a fresh verdict, and why'),
  lens_note: textOrNull.describe('Why `lens_value` is null, where the lens is not known'),
  note: textOrNull.describe('Why there can be no rows: of the timeframe, or of the floor'),
})

export type ScanTradeCallsRequest = z.output<typeof scanTradeCallsRequest>
export type ScanTradeCallsResponse = z.infer<typeof scanTradeCallsResponse>
export type ScanRow = z.infer<typeof scanRow>
