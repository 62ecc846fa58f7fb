import { timeframeMs } from '../../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/verdict.ts'
import type { ScoredCall } from './evaluation.ts'

/**
 * Of each series the calls whose races do not overlap: the first, then always the next one that closes when
 * the window of the one before is over, or later.
 *
 * @param calls those of a series in order of time
 */
export function nonOverlapping(calls: readonly ScoredCall[]): ScoredCall[] {
  const freeFrom = new Map<string, number>()
  return calls.filter(({ exchange, coin, timeframe, barClose }) => {
    const series = `${exchange}.${coin}.${timeframe}`
    if (barClose < (freeFrom.get(series) ?? 0)) return false
    freeFrom.set(series, barClose + WINDOW_BARS[timeframe] * timeframeMs(timeframe))
    return true
  })
}
