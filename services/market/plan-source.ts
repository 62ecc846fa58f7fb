import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import type { NativeBars } from './feed.ts'

/**
 * The native bars that a timeframe is made from: those that give most whole bars of it, and where several give
 * the same the longest, which is the timeframe itself where the market has it. So a native file of a few months
 * does not hide years that shorter bars could tell. Undefined where no whole bar can be made.
 */
export function planSource(target: Timeframe, native: readonly NativeBars[]): NativeBars | undefined {
  let best: NativeBars | undefined
  for (const bars of native) {
    if (timeframeMs(target) % timeframeMs(bars.timeframe) !== 0) continue
    const lead = wholeBars(target, bars) - (best === undefined ? 0 : wholeBars(target, best))
    const longer = best !== undefined && timeframeMs(bars.timeframe) > timeframeMs(best.timeframe)
    // The difference of two endless histories is NaN: neither has more.
    if (lead > 0 || (!(lead < 0) && longer)) best = bars
  }
  return best
}

/** Every timeframe that can be made from some native bars, shortest first. */
export const derivableTimeframes = (native: readonly NativeBars[]): Timeframe[] =>
  TIMEFRAMES.filter((timeframe) => planSource(timeframe, native) !== undefined)

function wholeBars(target: Timeframe, bars: NativeBars): number {
  if (bars.firstOpen === undefined || bars.lastClose === undefined) return Number.POSITIVE_INFINITY
  const lengthMs = timeframeMs(target)
  return Math.max(0, Math.floor(bars.lastClose / lengthMs) - Math.ceil(bars.firstOpen / lengthMs))
}
