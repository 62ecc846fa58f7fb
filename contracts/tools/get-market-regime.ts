import { z } from 'zod'
import { REGIME_DIRECTIONS } from '../domain/verdict.ts'
import { numberOrNull, percent } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import {
  callFields,
  coinField,
  exchangeField,
  instantField,
  seriesFields,
  timeframeField,
} from './tool-fields.ts'

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
  volatility_percentile: z
    .number()
    .min(0)
    .max(1)
    .describe('Share of the last bars that were calmer; forecasts volatility'),
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
