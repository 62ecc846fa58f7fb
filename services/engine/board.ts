import { type Series, seriesName } from '../../contracts/series.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import type { MarketMetrics } from './engine.ts'

/** The current state of a followed series. */
export interface BoardEntry {
  readonly series: Series
  /** Whether its history has ended, so that more bars come only as they close. */
  readonly isLive: boolean
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
 * The current state of every followed series. A verdict appears here only after it is durable; when another process
 * recorded the bar first, it is that process's verdict.
 */
export interface Board {
  get(series: Series): BoardEntry | undefined
  put(entry: BoardEntry): void
  /** Forgets a series that is followed no longer. */
  remove(series: Series): void
  entries(): IterableIterator<BoardEntry>
  /** Says that all bars which close by an instant are on the board. */
  raiseWatermark(instant: number): void
  /**
   * Up to where the board is complete, Unix milliseconds; 0 before the first bar. Series that are recorded
   * together come to the board one by one, so the newest bar on it may be ahead of the others.
   */
  watermark(): number
}

export function createBoard(): Board {
  const byName = new Map<string, BoardEntry>()
  let watermark = 0
  return {
    get: (series) => byName.get(seriesName(series)),
    put: (entry) => void byName.set(seriesName(entry.series), entry),
    remove: (series) => void byName.delete(seriesName(series)),
    entries: () => byName.values(),
    raiseWatermark(instant) {
      watermark = Math.max(watermark, instant)
    },
    watermark: () => watermark,
  }
}
