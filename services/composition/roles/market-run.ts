import { LIMITS } from '../../../contracts/limits.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import type { MarketFeed } from '../../market/index.ts'
import type { EngineDeps } from './engine-parts.ts'
import { newestVerdicts } from './newest-verdicts.ts'

/**
 * The instants after which bars of a simulated market are run through at a start: the newest bar in the log of each
 * monitored series, at most `LIMITS.runBarsLater` ago; for a series without one, `LIMITS.runBars` ago. Series on demand have no past to keep.
 */
export function planRun(
  { settings, feed, watchList, projector }: EngineDeps,
  series: readonly Series[],
): Parameters<MarketFeed['batches']>[0]['runFrom'] {
  if (feed.kind !== 'simulated' || !series.every((one) => watchList.has(one))) return undefined
  const newest = new Map<string, number>()
  for (const verdict of projector === undefined ? [] : newestVerdicts(projector))
    newest.set(seriesName(verdict), verdict.barClose)
  return (one, now) => {
    const recorded = newest.get(seriesName(one))
    const most = recorded === undefined ? LIMITS.runBars : LIMITS.runBarsLater
    return Math.max(recorded ?? (settings.FRESH ? now : 0), now - most * timeframeMs(one.timeframe))
  }
}
