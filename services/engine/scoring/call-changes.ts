import { DAY_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import type { Call } from '../../../contracts/verdict.ts'
import type { ScoredCall } from './evaluation.ts'

/**
 * Changes of the call from one bar of a series to its next, per series and day of bars.
 *
 * @param calls those of a series in order of time
 * @returns null where no series has two bars in a row
 */
export function callChanges(calls: readonly ScoredCall[]): number | null {
  const last = new Map<string, { readonly call: Call; readonly barClose: number }>()
  let changes = 0
  let watchedMs = 0
  for (const { exchange, coin, timeframe, barClose, call } of calls) {
    const series = `${exchange}.${coin}.${timeframe}`
    const before = last.get(series)
    last.set(series, { call, barClose })
    const barMs = timeframeMs(timeframe)
    if (before === undefined || before.barClose + barMs !== barClose) continue
    watchedMs += barMs
    if (before.call !== call) changes += 1
  }
  return watchedMs === 0 ? null : (changes * DAY_MS) / watchedMs
}
