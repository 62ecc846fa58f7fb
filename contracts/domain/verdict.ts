import { z } from 'zod'
import { numberOrNull, percent, timeMs } from '../infra/field-schemas.ts'
import { seriesSchema } from './series.ts'
import { type Timeframe, timeframeMs } from './timeframes.ts'

/**
 * The behaviour of the market until now, which forecasts nothing: no trend label predicted direction when measured.
 * The volatility percentile does forecast volatility.
 */
export const REGIMES = ['TRENDING_UP', 'TRENDING_DOWN', 'RANGING', 'VOLATILE'] as const
export type Regime = (typeof REGIMES)[number]

export const regimeSchema = z.enum(REGIMES).describe('Market regime: a description, not a forecast')

/** Which way a trend points, by the sign of it from −1 on. */
export const REGIME_DIRECTIONS = ['DOWN', 'NONE', 'UP'] as const
export type RegimeDirection = (typeof REGIME_DIRECTIONS)[number]

export const CALLS = ['BUY', 'SELL', 'HOLD'] as const
export type Call = (typeof CALLS)[number]
export const callSchema = z.enum(CALLS).describe('Composite verdict')

/** Bars in which a verdict's outcome is decided; its end is the verdict's `validUntil`. */
export const WINDOW_BARS: Readonly<Record<Timeframe, number>> = {
  '1m': 15,
  '3m': 15,
  '5m': 12,
  '15m': 12,
  '30m': 10,
  '1h': 8,
  '2h': 8,
  '4h': 6,
  '8h': 6,
  '12h': 5,
  '1d': 5,
}

/** One signed part of a verdict's log-odds; positive speaks for BUY, negative for SELL. */
export const factorSchema = z.object({
  name: z.string().min(1).max(64),
  /** The measured value; null where an input is missing, and for the bias, which measures nothing. */
  value: numberOrNull,
  /** Exact share of the log-odds; all contributions sum to them. */
  contribution: z.number(),
  /** A missing input contributes 0 and says so; it is never "normal". */
  status: z.enum(['measured', 'unavailable']),
})
export type Factor = z.infer<typeof factorSchema>

/**
 * How far the price may go within a verdict's window: quantiles of the return from the open of its first bar to the
 * close of its last one, as fractions. It says nothing of which way.
 */
export const forecastSchema = z.object({
  /** The model that computed it. */
  model: z.string().min(1).max(64),
  /** Standard deviation of that return. */
  volatility: z.number().positive(),
  p10: z.number(),
  p25: z.number(),
  p50: z.number(),
  p75: z.number(),
  p90: z.number(),
})
export type Forecast = z.infer<typeof forecastSchema>

/** Fields of a forecast that callers see; null where there is none. */
export const forecastFields = {
  expected_range: forecastSchema
    .omit({ model: true, volatility: true })
    .nullable()
    .describe("Quantiles of the window's return: how far, not which way; null in a still market"),
  expected_volatility: numberOrNull.describe('Standard deviation of it, heavy-tailed; null likewise'),
}

/** @example forecastShown(null) // { expected_range: null, expected_volatility: null } */
export function forecastShown(forecast: Forecast | null) {
  if (forecast === null) return { expected_range: null, expected_volatility: null }
  const { model: _, volatility, ...range } = forecast
  return { expected_range: range, expected_volatility: volatility }
}

/** Probability of a verdict that callers see. */
export const probabilityFields = {
  probability: z.number().describe('Probability that +1σ is reached before −1σ, given that one of them is'),
}

/** The barrier that a probability holds for likelier to come first: the one that a confidence is about. */
export const likelierBarrier = (probability: number): 'upper' | 'lower' =>
  probability >= 0.5 ? 'upper' : 'lower'

/** A verdict as recorded: the engine's answer for a series at a closed bar. */
export const verdictSchema = seriesSchema.extend({
  verdictId: z.uuid(),
  /** Close of the bar the verdict was computed on, Unix milliseconds. */
  barClose: timeMs,
  /** Close of the last bar of its window. */
  validUntil: timeMs,
  call: callSchema,
  /** round(100 × max(p, 1 − p)); lives in 50–60. */
  confidence: percent,
  /** 0–100 percentile of |log-odds| among this series' recent bars: for ranking only. */
  strength: percent,
  /** P(+1σ is reached before −1σ, given that one of them is reached within the window). */
  probability: z.number().gt(0).lt(1),
  regime: regimeSchema,
  regimeSince: timeMs,
  regimeStrength: percent,
  volatilityPercentile: z.number().min(0).max(1),
  /** Close price of the bar. */
  price: z.number().positive(),
  /** Distance of either barrier of the race from its start, as a fraction of the price there. */
  barrier: z.number().positive(),
  /** Null where the market stands still. */
  forecast: forecastSchema.nullable(),
  factors: z.array(factorSchema).max(64),
  reasoning: z.string().max(500),
  modelVersion: z.string().min(1).max(64),
  /** Open time of the bar where the series' state began; averages and hysteresis depend on it. */
  anchorBar: timeMs,
  /** SHA-256 (hex) over everything the verdict was computed from since the anchor. */
  inputsHash: z.string().regex(/^[0-9a-f]{64}$/),
  /** The verdict before it in its series; null for the first. */
  previous: z.object({ barClose: timeMs, regime: regimeSchema }).nullable(),
  /** Whether it was late, as {@link isLate} says, in market time when it was recorded: it counts for nothing. */
  recordedLate: z.boolean(),
})
export type Verdict = z.infer<typeof verdictSchema>

/** Until when a verdict is in time, Unix milliseconds: the close of the first bar of its race. */
export const inTimeUntil = ({ barClose, timeframe }: Pick<Verdict, 'barClose' | 'timeframe'>): number =>
  barClose + timeframeMs(timeframe)

/**
 * Whether a verdict that is recorded at an instant is late. Once a bar of its race has closed, the recorder may know
 * what it foretells. Who records goes by this rule, and so does who audits.
 *
 * @param at market time, Unix milliseconds
 */
export const isLate = (verdict: Pick<Verdict, 'barClose' | 'timeframe'>, at: number): boolean =>
  at >= inTimeUntil(verdict)

/** Bars between a verdict and the one before it that have none. */
export const barsMissed = ({
  barClose,
  timeframe,
  previous,
}: Pick<Verdict, 'barClose' | 'timeframe' | 'previous'>): number =>
  previous === null ? 0 : Math.max(0, Math.round((barClose - previous.barClose) / timeframeMs(timeframe)) - 1)

/** The regime that a verdict's series has shifted from with it; undefined where it has not. */
export const shiftedFrom = ({
  regime,
  previous,
}: Pick<Verdict, 'regime' | 'previous'>): Regime | undefined =>
  previous === null || previous.regime === regime ? undefined : previous.regime
