import { z } from 'zod'

/**
 * What the market has been doing, not what it will do: no trend label predicted direction when measured.
 * The volatility percentile does forecast volatility.
 */
export const REGIMES = ['TRENDING_UP', 'TRENDING_DOWN', 'RANGING', 'VOLATILE'] as const

export type Regime = (typeof REGIMES)[number]

export const regimeSchema = z.enum(REGIMES).describe('Market regime: a description, not a forecast')

/** The regime of a series at a bar. */
export interface RegimeReading {
  readonly regime: Regime
  /** Close time of the bar at which this regime began, Unix milliseconds. */
  readonly regimeSince: number
  /** 0–100: distance of the trend measure from zero, 100 at three times the entry threshold. */
  readonly regimeStrength: number
  /** 0–1: share of the last bars (up to 1,500) whose relative true range was below this one's. */
  readonly volatilityPercentile: number
}
