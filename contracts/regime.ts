import { z } from 'zod'

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
