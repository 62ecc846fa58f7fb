import { TIMEFRAMES, type Timeframe } from './timeframes.ts'

/**
 * AUC of the verdict model's decided outcomes outside of its fit, at each timeframe at which it makes calls; at every
 * other one the answer is always HOLD. The same numbers as in the model file.
 */
export const CALLING_AUC: Readonly<Partial<Record<Timeframe, number>>> = {
  '3m': 0.527,
  '5m': 0.524,
  '15m': 0.536,
  '30m': 0.537,
  '1h': 0.544,
  '2h': 0.548,
}

/** Timeframes at which calls are made, the shortest first. */
export const CALLING_TIMEFRAMES: readonly Timeframe[] = TIMEFRAMES.filter(
  (timeframe) => CALLING_AUC[timeframe] !== undefined,
)

/** Calling timeframes whose skill the newest half year alone does not show. */
export const UNCONFIRMED_TIMEFRAMES: readonly Timeframe[] = ['1h', '2h']

/** Highest confidence that the model can state: both factors are clipped. */
export const HIGHEST_CONFIDENCE = 60
