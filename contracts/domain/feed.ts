import type { Candle, FundingRate } from './candle.ts'
import type { Market, Series } from './series.ts'

/** A closed bar of a series. */
export interface ClosedBar {
  readonly series: Series
  readonly candle: Candle
}

/** A funding settlement of a market. */
export interface FundingUpdate {
  readonly market: Market
  readonly funding: FundingRate
}

/**
 * All that became known at one instant of market time: the bars that closed then, of every timeframe,
 * shortest timeframe first, and the funding settled since the batch before.
 */
export interface BarBatch {
  /**
   * Close time of the bars, Unix milliseconds; rises strictly from one batch with bars to the next of the same series,
   * late ones left out.
   */
  readonly at: number
  /**
   * `history` warms up the state of the series; its verdicts are not recorded, except that of the newest
   * history bar of each series. `run` bars closed before now in a market whose clock is run through them: their
   * verdicts are recorded bar by bar. `live` bars are recorded as they close. The first live batch comes as soon as
   * history has ended, without bars where none has closed since.
   */
  readonly phase: 'history' | 'run' | 'live'
  readonly bars: readonly ClosedBar[]
  readonly funding: readonly FundingUpdate[]
  /**
   * Names of the series that go through their past together: seam, bars and funding are theirs alone. Absent where all
   * of a request go together.
   */
  readonly of?: ReadonlySet<string>
  /**
   * Bars that a venue sent after others of their instant were told: `at` is still their close, and therefore not
   * after that of the batch before. The bars of one series always come in order. Late history comes when a venue
   * was away at the start; the newest bar of each series before the seam is `live` then, so that it gets its
   * verdict.
   */
  readonly isLate?: true
}

/** How far a feed with an end has come. */
export interface FeedProgress {
  readonly barsDone: number
  readonly barsTotal: number
}
