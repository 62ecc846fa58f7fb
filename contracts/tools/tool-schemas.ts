import { z } from 'zod'
import { canonicalTimeframe, coinOfName } from '../domain/common-names.ts'
import { coinSchema, EXCHANGES, exchangeSchema } from '../domain/series.ts'
import { CALLING_TIMEFRAMES, TIMEFRAMES, type Timeframe, timeframeSchema } from '../domain/timeframes.ts'
import {
  callSchema,
  factorSchema,
  forecastFields,
  probabilityFields,
  REGIME_DIRECTIONS,
  regimeSchema,
  type Verdict,
} from '../domain/verdict.ts'
import { count, numberOrNull, percent, textOrNull } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'

/**
 * A name chosen by a caller. The schema shown to callers lists the values; any other text passes here, so
 * that the tool can refuse it with a code and the list of what exists.
 */
const named = (description: string, values: readonly string[]) =>
  name().meta({ description, enum: [...values] })

/** Half a character could not be sent on, nor shown in a refusal. */
const name = () =>
  z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.nameCharacters)
    .refine((text) => text.isWellFormed(), { error: 'must be well-formed Unicode' })

export const coinField = name()
  .transform(coinOfName)
  .describe('Coin, as BTC; Bitcoin, BTCUSDT and BTC-PERP are understood too')

export const exchangeField = named('Exchange code', EXCHANGES)
  .transform((text) => text.toUpperCase())
  .optional()

export const timeframeField = (fallback: Timeframe) =>
  named('Length of a bar; aligned to UTC midnight', TIMEFRAMES)
    .overwrite(canonicalTimeframe)
    .default(fallback)

/** A whole number from 1, and any number between two, each with what it is where it is left out. */
const upTo = (most: number, usual: number) => z.int().min(1).max(most).default(usual)
const between = (least: number, most: number, usual: number) => z.number().min(least).max(most).default(usual)
const fraction = z.number().min(0).max(1)

export const instantField = z.iso.datetime().describe('ISO 8601, UTC')

/** The first fields of every row about one series. */
export const callFields = {
  call: callSchema,
  confidence: percent.describe('100 × calibrated probability that the called side comes first; 50 to 60'),
  strength: percent.describe('Percentile among recent bars of this series, for ranking; no probability'),
  regime: regimeSchema,
}

export const seriesFields = { coin: coinSchema, timeframe: timeframeSchema, exchange: exchangeSchema }

/** The address at which anybody who holds a verdict's id can look it up. */
export const verifyUrl = (publicUrl: string, { verdictId }: Pick<Verdict, 'verdictId'>): string =>
  `${publicUrl}/verify/${verdictId}`

/** @example getTradeCallRequest.parse({ coin: 'btc' }) // { coin: 'BTC', timeframe: '1h', include_factors: true } */
export const getTradeCallRequest = z.strictObject({
  coin: coinField,
  timeframe: timeframeField('1h'),
  exchange: exchangeField.describe('Exchange code; left out, the first monitored'),
  include_factors: z.boolean().default(true).describe('Whether to list the contribution of every factor'),
})

export const getTradeCallResponse = z.object({
  ...callFields,
  ...seriesFields,
  ...probabilityFields,
  barrier: z.number().describe('Distance of either barrier, as a fraction of the price'),
  ...forecastFields,
  price: z.number().describe('Close of the bar'),
  bar_close: instantField,
  valid_until: instantField.describe('End of the window in which the outcome is decided'),
  verdict_id: z.uuid(),
  model_version: z.string(),
  factors: z
    .array(factorSchema)
    .describe('Signed contributions; they sum to the log-odds of the probability'),
  reasoning: z.string(),
  unconfirmed: z.literal(true).exactOptional().describe('Newest bars show no skill here'),
  verify_url: z.url(),
  data_age_ms: z.int().nonnegative().describe('Time since the bar closed'),
})
export type GetTradeCallResponse = z.infer<typeof getTradeCallResponse>

export const getMarketRegimeRequest = z.strictObject({
  coin: coinField,
  timeframe: timeframeField('4h'),
  exchange: exchangeField.describe('Exchange code; left out, the first monitored'),
})

const metric = (description: string) => numberOrNull.describe(description)

export const getMarketRegimeResponse = z.object({
  call: callFields.call,
  confidence: callFields.confidence,
  regime: callFields.regime,
  direction: z.enum(REGIME_DIRECTIONS).exactOptional().describe('Of the trend'),
  liveliness: numberOrNull.exactOptional().describe('Moves of 8 bars over those of 350'),
  regime_since: instantField.describe('Close of the bar at which it began'),
  regime_strength: percent.describe('Distance of the trend measure from zero, 100 at 1.5 ATR'),
  volatility_percentile: fraction.describe('Share of the last bars that were calmer; forecasts volatility'),
  percentile_bars: z.int().min(1).max(LIMITS.volatilityBars).exactOptional().describe('Bars it is of'),
  metrics: z.object({
    rsi: metric('RSI, 14 bars'),
    adx: metric('ADX, 14 bars'),
    plus_di: metric('+DI, 14 bars'),
    minus_di: metric('−DI, 14 bars'),
    atr_percent: metric('ATR of 14 bars, in percent of the close'),
    ema_gap_atr: metric('(EMA9 − EMA21) / ATR50: what the trend is decided on'),
    realised_volatility: metric('Standard deviation of the last 50 log returns, per bar'),
  }),
  ...seriesFields,
  bar_close: instantField,
  verdict_id: z.uuid(),
  verify_url: z.url(),
  data_age_ms: z.int().nonnegative().describe('Time since the bar closed'),
})
export type GetMarketRegimeResponse = z.infer<typeof getMarketRegimeResponse>

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
  top_n: upTo(LIMITS.scanCoins, 20).describe('Coins to scan: the top of the exchange by volume'),
  min_confidence: percent.default(0).describe('Above 60 nothing passes'),
  include_holds: z.boolean().default(false).describe('Whether HOLDs have rows too'),
  limit: upTo(LIMITS.scanCoins, 10).describe('Rows in the answer'),
  rank_by: z
    .enum(RANKINGS)
    .default('strength')
    .describe(
      'expected_range: p10 to p90, widest first; expected_return: refused; volume, change: of 24 hours',
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
  lens_value: numberOrNull.describe('What `lens` ranks by; volatility is the 14-bar ATR in percent'),
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

export const scanFundingArbRequest = z.strictObject({
  min_net_bps: between(-10_000, 10_000, 0).describe('Least expected net carry, in basis points'),
  holding_hours: upTo(2_160, 168).describe('How long both legs are held'),
  limit: upTo(LIMITS.fundingRows, 10).describe('Rows in the answer'),
  coins: z
    .array(coinField)
    .min(1)
    .max(100)
    .optional()
    .describe('Only these coins; all that are known where it is left out'),
  taker_fee_bps: between(0, 100, 5).describe('Fee of one leg, in basis points; four legs are paid'),
})

export const fundingLeg = z.object({
  exchange: exchangeSchema,
  contract: coinSchema.describe('What the exchange calls the coin: 1000PEPE, KPEPE or PEPE'),
  coins_per_unit: z.int().positive().describe('Coins that one unit of its price is for: 1,000 of 1000PEPE'),
  side: z.enum(['long', 'short']),
  rate: z.number().describe('Newest settled rate: the fraction longs pay shorts for one interval'),
  interval_hours: z.number().describe('Differs by exchange and contract, and changes over time'),
  annualised: z.number().describe('The rate as a simple yearly fraction'),
  settled_at: instantField,
  next_funding: instantField.describe('Next settlement, if the interval stays'),
})

export const fundingOpportunity = z.object({
  rank: z.int().positive(),
  coin: coinSchema,
  long: fundingLeg,
  short: fundingLeg,
  annualised_gross: z
    .number()
    .describe('What the newest rates would earn in a year if they stayed; they do not'),
  expected_annualised: z
    .number()
    .describe('Yearly carry expected over the holding time, shrunk by persistence'),
  net_expected_bps: z
    .number()
    .describe('Expected carry over the holding time after four taker fees, in basis points of one leg'),
  break_even_hours: numberOrNull.describe('When the carry has paid the fees; null if not within a year'),
  persistence: fraction.describe('Correlation of the daily spread with that of the day before, at least 0'),
  history_days: z.int().nonnegative().describe('Whole days of funding history that both exchanges have'),
})

export const scanFundingArbResponse = z.object({
  completed_at: instantField,
  holding_hours: z.int(),
  fees_bps: z.number().describe('The four taker fees together'),
  opportunities: z.array(fundingOpportunity),
  pairs_compared: z.int().nonnegative(),
  pairs_too_short: count.describe('Pairs left out: under a week of common history, or a gap in 24 hours'),
  pairs_unconfirmed: count.describe('Pairs left out: no two fresh prices within 5 % confirm one asset'),
  markets_stale: count.describe('Markets left out because their newest settlement is too old'),
  venues: z.array(exchangeSchema).describe('Exchanges with funding history here'),
  note: textOrNull.describe('Why there is nothing, and what was left out'),
})
export type ScanFundingArbRequest = z.output<typeof scanFundingArbRequest>
export type ScanFundingArbResponse = z.infer<typeof scanFundingArbResponse>
export type FundingLeg = z.infer<typeof fundingLeg>
export type FundingOpportunity = z.infer<typeof fundingOpportunity>
