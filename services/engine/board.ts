import { type Series, seriesName } from '../../contracts/series.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import type { MarketMetrics } from './engine.ts'

/** What a followed series says now. */
export interface BoardEntry {
  readonly series: Series
  /** Closed bars since the series' state began. */
  readonly bars: number
  /** Close of the newest bar, Unix milliseconds; undefined before the first. */
  readonly barClose: number | undefined
  /**
   * The newest verdict in the log with what was measured at its bar; undefined while there are too few bars,
   * and until the first one is durable.
   */
  readonly recorded: { readonly verdict: Verdict; readonly metrics: MarketMetrics } | undefined
}

/**
 * What every followed series says now, by series. A verdict stands here only after it is durable; where
 * another process recorded the bar first, the verdict is that one's.
 */
export interface Board {
  get(series: Series): BoardEntry | undefined
  put(entry: BoardEntry): void
  /** Forgets a series that is followed no longer. */
  remove(series: Series): void
  entries(): IterableIterator<BoardEntry>
}

export function createBoard(): Board {
  const byName = new Map<string, BoardEntry>()
  return {
    get: (series) => byName.get(seriesName(series)),
    put: (entry) => void byName.set(seriesName(entry.series), entry),
    remove: (series) => void byName.delete(seriesName(series)),
    entries: () => byName.values(),
  }
}
