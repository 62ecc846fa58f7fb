import { z } from 'zod'

/**
 * The behaviour of the market until now, which forecasts nothing: no trend label predicted direction when measured.
 * The volatility percentile does forecast volatility.
 */
export const REGIMES = ['TRENDING_UP', 'TRENDING_DOWN', 'RANGING', 'VOLATILE'] as const

export type Regime = (typeof REGIMES)[number]

export const regimeSchema = z.enum(REGIMES).describe('Market regime: a description, not a forecast')
