import { type Series, seriesName } from '../../contracts/domain/series.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
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
export type Board = ReturnType<typeof createBoard>

export function createBoard() {
  const byName = new Map<string, BoardEntry>()
  let watermark = 0
  return {
    get: (series: Series): BoardEntry | undefined => byName.get(seriesName(series)),
    put: (entry: BoardEntry): void => void byName.set(seriesName(entry.series), entry),
    /** Forgets a series that is followed no longer. */
    remove: (series: Series): void => void byName.delete(seriesName(series)),
    entries: (): IterableIterator<BoardEntry> => byName.values(),
    /** Says that all bars which close by an instant are on the board. */
    raiseWatermark(instant: number): void {
      watermark = Math.max(watermark, instant)
    },
    /**
     * Up to where the board is complete, Unix milliseconds; 0 before the first bar. Series that are recorded
     * together come to the board one by one, so the newest bar on it may be ahead of the others.
     */
    watermark: (): number => watermark,
  }
}
