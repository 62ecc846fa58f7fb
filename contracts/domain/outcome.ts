import { z } from 'zod'
import { numberOrNull, timeMs } from '../infra/field-schemas.ts'
import { seriesSchema } from './series.ts'
import { type Call, callSchema, forecastSchema } from './verdict.ts'

/**
 * How the race of a verdict ended: the upper or the lower barrier came first; one bar touched both, in an
 * order nobody knows; the window closed before either was reached; or bars of the window are missing and
 * nothing had been decided before them.
 */
export const RACE_OUTCOMES = ['up', 'down', 'both', 'timeout', 'incomplete'] as const
export type RaceOutcome = (typeof RACE_OUTCOMES)[number]

/** Taker fees and slippage of entering and leaving, as a fraction of the price. */
export const ROUND_TRIP_COST = 0.0012

const price = z.number().positive()

/** The outcome of a verdict: labelled when its window has closed, by the rule that defines confidence. */
export const outcomeSchema = seriesSchema.extend({
  verdictId: z.uuid(),
  barClose: timeMs,
  validUntil: timeMs,
  modelVersion: z.string().min(1).max(64),
  call: callSchema,
  probability: z.number().gt(0).lt(1),
  /** Distance of either barrier from the entry, as a fraction of it. */
  barrier: z.number().positive(),
  race: z.enum(RACE_OUTCOMES),
  /** Open of the bar after the verdict's; null where that bar is missing. */
  entryPrice: price.nullable(),
  /**
   * Price at which the race ended: a barrier, the open of a bar that opened beyond it, or the last close of the window;
   * null after `both` and `incomplete`.
   */
  exitPrice: price.nullable(),
  /** Close of the bar that decided the race, Unix milliseconds; null where none did. */
  decidedAt: timeMs.nullable(),
  /** Highest and lowest price of the bars until the race ended, as fractions away from the entry; null without one. */
  highest: numberOrNull,
  lowest: numberOrNull,
  /** The forecast of its verdict: how far the price was to go. */
  forecast: forecastSchema.nullable(),
  /** Close of the window's last bar, whenever the race ended; null where bars are missing. */
  closePrice: price.nullable(),
  /** As of its verdict: it counts for nothing but itself. */
  recordedLate: z.boolean(),
  /** Bars without a verdict in front of its verdict, as `barsMissed` counts them. */
  barsMissed: z.int().nonnegative(),
})
export type Outcome = z.infer<typeof outcomeSchema>

/** Fields of an outcome that `callReturn` reads. */
export type RaceEnd = Pick<Outcome, 'race' | 'entryPrice' | 'exitPrice' | 'barrier'>

/**
 * The return of a call entered at the start of its race and left at its end, before costs, as a fraction.
 * A bar that touched both barriers counts as lost, whichever side was called. Null for HOLD, and where bars
 * are missing.
 *
 * @example callReturn({ race: 'up', entryPrice: 100, exitPrice: 101, barrier: 0.01 }, 'SELL') // -0.01
 */
export function callReturn(end: RaceEnd, call: Call): number | null {
  if (call === 'HOLD' || end.race === 'incomplete') return null
  if (end.race === 'both') return -end.barrier
  if (end.entryPrice === null || end.exitPrice === null) return null
  const move = end.exitPrice / end.entryPrice - 1
  return call === 'BUY' ? move : -move
}
