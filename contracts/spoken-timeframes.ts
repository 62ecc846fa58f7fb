import type { Timeframe } from './timeframes.ts'

/**
 * Timeframes at which calls are made, the shortest first; at every other one the answer is always HOLD.
 * Written by `npm run docs` from the verdict model of this release.
 */
export const SPOKEN_TIMEFRAMES: readonly Timeframe[] = ['3m', '5m', '15m', '30m', '1h']
