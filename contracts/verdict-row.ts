import { z } from 'zod'
import { exchangeSchema } from './exchanges.ts'
import { instantUtc as instant } from './field-schemas.ts'
import { isoTime } from './iso-time.ts'
import { regimeSchema } from './regime.ts'
import { coinSchema } from './series.ts'
import { timeframeSchema } from './timeframes.ts'
import {
  barsMissed,
  callSchema,
  factorSchema,
  forecastFields,
  forecastShown,
  probabilityFields,
  shiftedFrom,
  type Verdict,
} from './verdict.ts'

/** A recorded verdict as the replay shows it, one per line. */
export const verdictRowSchema = z.object({
  cursor: z.string().describe('Where to go on after this row: give it as `after`'),
  verdict_id: z.uuid(),
  exchange: exchangeSchema,
  coin: coinSchema,
  timeframe: timeframeSchema,
  bar_close: instant,
  valid_until: instant,
  recorded_at: instant,
  call: callSchema,
  confidence: z
    .int()
    .describe('100 × the calibrated probability that the likelier barrier comes before the other'),
  strength: z.int().describe('0–100 percentile, for ranking only'),
  probability: probabilityFields.probability,
  regime: regimeSchema,
  regime_since: instant,
  regime_strength: z.int(),
  volatility_percentile: z.number(),
  price: z.number(),
  barrier: z
    .number()
    .describe('Distance of either barrier, as a fraction of the price at the start of the race'),
  factors: z.array(factorSchema),
  reasoning: z.string(),
  model_version: z.string(),
  anchor_bar: instant,
  inputs_hash: z.string(),
  shifted_from: regimeSchema
    .or(z.literal(''))
    .describe('The regime of the verdict before in the series where it was another; empty otherwise'),
  bars_missed: z
    .int()
    .nonnegative()
    .describe('Bars between this and the verdict before that have no verdict'),
  recorded_late: z
    .boolean()
    .describe(
      'Recorded when the first bar of its race had closed, or, in logs of former releases, its window: it counts for nothing',
    ),
  ...forecastFields,
  closes_higher: z.number().nullable().describe('Probability that the window closes above entry, or null'),
  visible_at: instant.describe(
    'When everybody could read it: the end of its window, or when it was recorded if that came later',
  ),
  decided_at: instant
    .nullable()
    .describe('Close of the bar that decided its race; null where none did, or it was not labelled yet'),
})

export type VerdictRow = z.infer<typeof verdictRowSchema>

/**
 * @param recordedAt when the verdict's event was appended, ISO 8601
 * @param decidedAt of its outcome, Unix milliseconds; null where there is none
 */
export const verdictRow = (
  verdict: Verdict,
  cursor: string,
  recordedAt: string,
  decidedAt: number | null = null,
): VerdictRow => ({
  cursor,
  verdict_id: verdict.verdictId,
  exchange: verdict.exchange,
  coin: verdict.coin,
  timeframe: verdict.timeframe,
  bar_close: isoTime(verdict.barClose),
  valid_until: isoTime(verdict.validUntil),
  recorded_at: recordedAt,
  call: verdict.call,
  confidence: verdict.confidence,
  strength: verdict.strength,
  probability: verdict.probability,
  regime: verdict.regime,
  regime_since: isoTime(verdict.regimeSince),
  regime_strength: verdict.regimeStrength,
  volatility_percentile: verdict.volatilityPercentile,
  price: verdict.price,
  barrier: verdict.barrier,
  factors: verdict.factors,
  reasoning: verdict.reasoning,
  model_version: verdict.modelVersion,
  anchor_bar: isoTime(verdict.anchorBar),
  inputs_hash: verdict.inputsHash,
  shifted_from: shiftedFrom(verdict) ?? '',
  bars_missed: barsMissed(verdict),
  recorded_late: verdict.recordedLate,
  ...forecastShown(verdict.forecast),
  closes_higher: null,
  visible_at: visibleAt(verdict, recordedAt),
  decided_at: decidedAt === null ? null : isoTime(decidedAt),
})

/** A replay shows a verdict once its window has closed; one that came later, at once. */
export function visibleAt(
  { validUntil, recordedLate }: Pick<Verdict, 'validUntil' | 'recordedLate'>,
  recordedAt: string,
): string {
  const closes = isoTime(validUntil)
  return recordedLate && recordedAt > closes ? recordedAt : closes
}
