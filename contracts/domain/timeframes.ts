import { z } from 'zod'

/**
 * The eleven timeframes, shortest first. All divide a UTC day, so a bar's open time is its start rounded
 * down to a multiple of the timeframe since the Unix epoch.
 */
export const TIMEFRAMES = ['1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '8h', '12h', '1d'] as const
export type Timeframe = (typeof TIMEFRAMES)[number]

export const timeframeSchema = z
  .enum(TIMEFRAMES)
  .describe('Length of one bar; bars are aligned to UTC midnight')

const MINUTES: Readonly<Record<Timeframe, number>> = {
  '1m': 1,
  '3m': 3,
  '5m': 5,
  '15m': 15,
  '30m': 30,
  '1h': 60,
  '2h': 120,
  '4h': 240,
  '8h': 480,
  '12h': 720,
  '1d': 1_440,
}

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** Length of one bar in milliseconds. */
export const timeframeMs = (timeframe: Timeframe): number => MINUTES[timeframe] * MINUTE_MS

/**
 * Open time of the bar that contains an instant.
 *
 * @example barOpenAt('4h', Date.UTC(2025, 0, 1, 5, 30)) === Date.UTC(2025, 0, 1, 4)
 */
export function barOpenAt(timeframe: Timeframe, timeMs: number): number {
  const lengthMs = timeframeMs(timeframe)
  return Math.floor(timeMs / lengthMs) * lengthMs
}

/** Close time of the newest bar that is closed at an instant; a bar is closed from its close time on. */
export const lastBarClose = (timeframe: Timeframe, nowMs: number): number => barOpenAt(timeframe, nowMs)

export const isTimeframe = (value: string): value is Timeframe =>
  (TIMEFRAMES as readonly string[]).includes(value)

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
