import type { Candle } from '../../contracts/candle.ts'

/** Barriers are never nearer than this fraction of the entry price: below it, costs decide the race. */
export const BARRIER_FLOOR = 0.003

/**
 * Distance of both barriers of a verdict's race from its entry price, as a fraction of it: one standard
 * deviation of the move to be expected within the window.
 *
 * @param deviationPerBar standard deviation of log returns, per bar
 * @param windowBars bars in which the race is decided
 * @example barrierFraction(0.005, 4) === 0.01 && barrierFraction(0.0001, 4) === BARRIER_FLOOR
 */
export const barrierFraction = (deviationPerBar: number, windowBars: number): number =>
  Math.max(BARRIER_FLOOR, deviationPerBar * Math.sqrt(windowBars))

/** How a race ended; `both` is a bar that touched both barriers, whose order is unknown. */
export type RaceOutcome = 'up' | 'down' | 'both' | 'timeout'

/**
 * Runs the race that a verdict is about: entered at the open of the bar after it, won by the barrier that is
 * touched first.
 *
 * @param verdictIndex index of the bar the verdict was computed on
 * @param barrier distance of both barriers, as a fraction of the entry price
 * @returns undefined while the window is not over and nothing is decided
 * @example raceOutcome(bars, 499, 0.01, 8) // 'up'
 */
export function raceOutcome(
  bars: readonly Candle[],
  verdictIndex: number,
  barrier: number,
  windowBars: number,
): RaceOutcome | undefined {
  const entry = bars[verdictIndex + 1]?.open
  if (entry === undefined) return undefined
  const upper = entry * (1 + barrier)
  const lower = entry * (1 - barrier)
  for (let index = verdictIndex + 1; index <= verdictIndex + windowBars; index++) {
    const bar = bars[index]
    if (bar === undefined) return undefined
    const up = bar.high >= upper
    const down = bar.low <= lower
    if (up && down) return 'both'
    if (up) return 'up'
    if (down) return 'down'
  }
  return 'timeout'
}
