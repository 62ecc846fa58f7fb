import type { Exchange, Series } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { BoardEntry } from '../../engine/index.ts'

/** The states of the monitored series of a venue; they add up to `monitored`. */
export interface MonitoredCounts {
  readonly exchange: Exchange
  readonly monitored: number
  /** Their newest bar came in time, or their market has an end. */
  readonly fresh: number
  readonly stale: number
  /** Closed because of a fault of their own, until they are tried again. */
  readonly closed: number
  /** Their history is still coming. */
  readonly loading: number
}

export type MonitoredState = Exclude<keyof MonitoredCounts, 'exchange' | 'monitored'>

export interface MonitoredSources {
  readonly isClosed: (series: Series) => boolean
  readonly entryOf: (series: Series) => BoardEntry | undefined
  /** Whether a bar can be late at all: those of a recorded market come when they are read. */
  readonly hasPresent: boolean
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  /** Beyond its bar's length, how late a series' newest bar may be; milliseconds of market time. */
  readonly staleAfterMs: number
}

/** Counts series by venue, in the order in which the venues come. */
export function countMonitored(series: readonly Series[], sources: MonitoredSources): MonitoredCounts[] {
  const now = sources.clock()

  function stateOf(one: Series): MonitoredState {
    if (sources.isClosed(one)) return 'closed'
    const entry = sources.entryOf(one)
    if (entry?.isLive !== true) return 'loading'
    const age = now - (entry.barClose ?? Number.NEGATIVE_INFINITY)
    return sources.hasPresent && age > timeframeMs(one.timeframe) + sources.staleAfterMs ? 'stale' : 'fresh'
  }

  return [...Map.groupBy(series, ({ exchange }) => exchange)].map(([exchange, own]) => {
    const counts = { fresh: 0, stale: 0, closed: 0, loading: 0 }
    for (const one of own) counts[stateOf(one)] += 1
    const { fresh, stale, closed, loading } = counts
    assert(fresh + stale + closed + loading === own.length, 'each monitored series is in one state')
    return { exchange, monitored: own.length, ...counts }
  })
}
