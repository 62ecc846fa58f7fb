import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { barOpenAt, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { MarketFeed } from '../../market/index.ts'
import type { EngineDeps } from './engine-parts.ts'
import { newestVerdicts } from './newest-verdicts.ts'

/** Bars of a series that are run through at a later start, for the time in which nothing ran: a day of minutes. */
const RUN_BARS_LATER = 1_440

interface MarketRun {
  readonly runFrom: NonNullable<Parameters<MarketFeed['batches']>[0]['runFrom']>
  /** Close of the first bar of those asked about that the clock is run through, Unix milliseconds. */
  readonly earliest: () => number
}

/**
 * The instants after which bars of a simulated market are run through at a start: the newest bar in the log of each
 * monitored series, at most {@link RUN_BARS_LATER} ago; for a series without one, `LIMITS.runBars` ago. Series on demand have no past to keep.
 */
export async function planRun(
  { settings, feed, watchList, projector }: EngineDeps,
  series: readonly Series[],
  until: AbortSignal,
): Promise<MarketRun | undefined> {
  if (feed.kind !== 'simulated' || !series.every((one) => watchList.has(one))) return undefined
  await projector?.caughtUp(until)
  const newest = new Map<string, number>()
  for (const verdict of projector === undefined ? [] : newestVerdicts(projector))
    newest.set(seriesName(verdict), verdict.barClose)
  let earliest = Number.POSITIVE_INFINITY
  return {
    runFrom(one, now) {
      const recorded = newest.get(seriesName(one))
      const barMs = timeframeMs(one.timeframe)
      const most = (recorded === undefined ? LIMITS.runBars : RUN_BARS_LATER) * barMs
      const from = Math.max(recorded ?? (settings.FRESH ? now : 0), now - most)
      const first = barOpenAt(one.timeframe, from) + barMs
      if (first <= now) earliest = Math.min(earliest, first)
      return from
    },
    earliest: () => earliest,
  }
}
