import { z } from 'zod'
import { isoTime } from '../domain/iso-time.ts'
import { callReturn, type Outcome, RACE_OUTCOMES, ROUND_TRIP_COST } from '../domain/outcome.ts'
import { seriesSchema } from '../domain/series.ts'
import {
  barsMissed,
  callSchema,
  factorSchema,
  forecastFields,
  forecastShown,
  probabilityFields,
  regimeSchema,
  shiftedFrom,
  type Verdict,
} from '../domain/verdict.ts'
import { count, instantUtc as instant, numberOrNull } from '../infra/field-schemas.ts'
import { recordedAs, recordedAsSchema } from './recorded-as.ts'

const instantOrNull = instant.nullable()

/** A recorded verdict with its outcome as the replay shows it, one per line. */
export const verdictRowSchema = z.object({
  cursor: z.string().describe('Where to go on after this row: give it as `after`'),
  verdict_id: z.uuid(),
  ...seriesSchema.shape,
  bar_close: instant,
  valid_until: instant,
  recorded_at: instant,
  call: callSchema,
  confidence: z.int().describe('100 × the calibrated probability of the likelier barrier'),
  strength: z.int().describe('0–100 percentile, for ranking only'),
  probability: probabilityFields.probability,
  regime: regimeSchema,
  regime_since: instant,
  regime_strength: z.int(),
  volatility_percentile: z.number(),
  price: z.number(),
  barrier: z.number().describe('Distance of either barrier, as a fraction of the price'),
  factors: z.array(factorSchema),
  reasoning: z.string(),
  model_version: z.string(),
  anchor_bar: instant,
  inputs_hash: z.string(),
  shifted_from: regimeSchema
    .or(z.literal(''))
    .describe('Regime of the verdict before if another; else empty'),
  bars_missed: count.describe('Bars between this and the verdict before that have no verdict'),
  recorded_as: recordedAsSchema,
  ...forecastFields,
  visible_at: instant.describe('End of its window, or when it was recorded if that was later'),
  decided_at: instantOrNull.describe('Close of the bar that decided its race; null if none did'),
  race: z.enum(RACE_OUTCOMES).nullable().describe('Which barrier came first; null without an outcome'),
  entry_price: numberOrNull.describe('Open of the first bar of the window; null where that bar is missing'),
  exit_price: numberOrNull.describe('Price at which the race ended; null if that is not known'),
  close_price: numberOrNull.describe('Close of the last bar of the window; null where bars are missing'),
  exit_at: instantOrNull.describe('`decided_at`, or the close of the last bar of the window'),
  net_bps: numberOrNull.describe('Return in basis points, after costs of 12; null for HOLD or missing bars'),
})
export type VerdictRow = z.infer<typeof verdictRowSchema>

/**
 * @param recordedAt when the verdict's event was appended, ISO 8601
 * @param outcome null where there is none yet
 */
export const verdictRow = (
  verdict: Verdict,
  cursor: string,
  recordedAt: string,
  outcome: RowOutcome | null = null,
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
  recorded_as: recordedAs(verdict, recordedAt),
  ...forecastShown(verdict.forecast),
  visible_at: visibleAt(verdict, recordedAt),
  ...outcomeColumns(verdict, outcome),
})

/** The parts of an outcome that a row has. */
type RowOutcome = Pick<Outcome, 'race' | 'entryPrice' | 'exitPrice' | 'closePrice' | 'decidedAt'>

function outcomeColumns({ call, barrier, validUntil }: Verdict, outcome: RowOutcome | null) {
  const { race, entryPrice, exitPrice, closePrice, decidedAt } = outcome ?? NO_OUTCOME
  const gross = race === null ? null : callReturn({ race, entryPrice, exitPrice, barrier }, call)
  const exitAt = race === 'timeout' ? validUntil : decidedAt
  return {
    decided_at: decidedAt === null ? null : isoTime(decidedAt),
    race,
    entry_price: entryPrice,
    exit_price: exitPrice,
    close_price: closePrice,
    exit_at: exitAt === null ? null : isoTime(exitAt),
    net_bps: gross === null ? null : 10_000 * (gross - ROUND_TRIP_COST),
  }
}

const NO_OUTCOME = { race: null, entryPrice: null, exitPrice: null, closePrice: null, decidedAt: null }

/** A replay shows a verdict once its window has closed; one that came later, at once. */
export function visibleAt(
  { validUntil, recordedLate }: Pick<Verdict, 'validUntil' | 'recordedLate'>,
  recordedAt: string,
): string {
  const closes = isoTime(validUntil)
  return recordedLate && recordedAt > closes ? recordedAt : closes
}
