import { z } from 'zod'
import type { Call } from '../../contracts/verdict.ts'
import { CELL, cell } from './cells.ts'
import { typicalRange } from './stillness.ts'

/** The rule by which a regime is named; a model holds the one that its verdicts follow. */
export const regimeRuleSchema = z.strictObject({
  /** A trend begins at this distance between the fast and the slow average, in ATR50. */
  trendEntry: z.number().positive(),
  /** It lasts until the distance has fallen to this: two thresholds, so that noise cannot flip it. */
  trendExit: z.number(),
  /** Whether a lively market is VOLATILE even in a trend. */
  volatileFirst: z.boolean(),
})

export type RegimeRule = z.infer<typeof regimeRuleSchema>

/** The rule of models that name none. */
export const FIRST_REGIME_RULE: RegimeRule = { trendEntry: 0.5, trendExit: -0.2, volatileFirst: false }
/** The rule of models that are fitted from now on: trends that noise makes less often, and hide no liveliness. */
export const NEWEST_REGIME_RULE: RegimeRule = { trendEntry: 0.8, trendExit: 0, volatileFirst: true }

/** (EMA9 − EMA21) / ATR50 of a series; NaN before bar 51, and in a market that has never moved. */
export const trendMeasure = (cells: Float64Array, base: number): number =>
  (cell(cells, base + CELL.ema9) - cell(cells, base + CELL.ema21)) / typicalRange(cells, base)

/** 1 up, −1 down, 0 no trend. */
export type Direction = 1 | 0 | -1

/**
 * The next direction of a trend.
 *
 * @param measure the trend measure; NaN leaves no trend
 */
export function nextDirection(
  current: number,
  measure: number,
  { trendEntry, trendExit }: Pick<RegimeRule, 'trendEntry' | 'trendExit'>,
): Direction {
  if (Number.isNaN(measure)) return 0
  if (measure > trendEntry) return 1
  if (measure < -trendEntry) return -1
  if (current > 0) return measure < trendExit ? 0 : 1
  if (current < 0) return measure > -trendExit ? 0 : -1
  return 0
}

/** Volatility percentile from which a market without trend is VOLATILE, and below which it no longer is. */
const VOLATILE_ENTRY = 0.92
const VOLATILE_EXIT = 0.75

/** Whether the volatility trigger is set after a bar; it is kept through trends, which hide it. */
export function nextVolatile(current: boolean, percentile: number): boolean {
  return current ? percentile >= VOLATILE_EXIT : percentile > VOLATILE_ENTRY
}

/** Probability of the upper barrier from which a call begins, and where it ends again. */
export const BUY_ENTRY = 0.53
export const BUY_EXIT = 0.505
export const SELL_ENTRY = 0.47
export const SELL_EXIT = 0.495

/** 1 BUY, −1 SELL, 0 HOLD. */
export type CallSign = 1 | 0 | -1

/**
 * The next call of a series. A call begins at its entry and lasts while the probability stays beyond its
 * exit; a probability at or past the exit ends it, one at the other side's entry turns it.
 */
export function nextCall(current: number, probability: number): CallSign {
  if (probability >= BUY_ENTRY) return 1
  if (probability <= SELL_ENTRY) return -1
  if (current > 0) return probability > BUY_EXIT ? 1 : 0
  if (current < 0) return probability < SELL_EXIT ? -1 : 0
  return 0
}

export const callOf = (sign: number): Call => (sign > 0 ? 'BUY' : sign < 0 ? 'SELL' : 'HOLD')
