import type { Call, Regime } from '../../../contracts/domain/verdict.ts'
import { BUY_ENTRY, BUY_EXIT, SELL_ENTRY, SELL_EXIT } from '../model/thresholds.ts'

/** A trend begins at this distance between EMA9 and EMA21, in ATR50. */
const TREND_ENTRY = 0.8
/** It lasts until the distance has fallen to this: two thresholds, so that noise cannot flip it. */
const TREND_EXIT = 0

/** 1 up, −1 down, 0 no trend. */
export type Direction = 1 | 0 | -1

/**
 * The next direction of a trend.
 *
 * @param measure (EMA9 − EMA21) / ATR50; NaN leaves no trend
 */
export function nextDirection(current: Direction, measure: number): Direction {
  if (Number.isNaN(measure)) return 0
  if (measure > TREND_ENTRY) return 1
  if (measure < -TREND_ENTRY) return -1
  if (current > 0) return measure < TREND_EXIT ? 0 : 1
  if (current < 0) return measure > -TREND_EXIT ? 0 : -1
  return 0
}

/** Volatility percentile above which a market is VOLATILE, and below which it no longer is. */
const VOLATILE_ENTRY = 0.92
const VOLATILE_EXIT = 0.75

/** Whether a market is volatile after a bar. */
export const nextVolatile = (current: boolean, percentile: number): boolean =>
  current ? percentile >= VOLATILE_EXIT : percentile > VOLATILE_ENTRY

/** A volatile market is VOLATILE even in a trend. */
export function regimeOf(direction: Direction, isVolatile: boolean): Regime {
  if (isVolatile) return 'VOLATILE'
  return direction > 0 ? 'TRENDING_UP' : direction < 0 ? 'TRENDING_DOWN' : 'RANGING'
}

/** 1 BUY, −1 SELL, 0 HOLD. */
export type CallSign = 1 | 0 | -1

/**
 * The next call of a series. A call begins at its entry and lasts while the probability stays beyond its
 * exit; a probability at or past the exit ends it, one at the other side's entry turns it.
 */
export function nextCall(current: CallSign, probability: number): CallSign {
  if (probability >= BUY_ENTRY) return 1
  if (probability <= SELL_ENTRY) return -1
  if (current > 0) return probability > BUY_EXIT ? 1 : 0
  if (current < 0) return probability < SELL_EXIT ? -1 : 0
  return 0
}

export const callOf = (sign: CallSign): Call => (sign > 0 ? 'BUY' : sign < 0 ? 'SELL' : 'HOLD')
