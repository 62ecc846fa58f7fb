import type { BarBatch, FeedProgress } from '../../contracts/domain/feed.ts'
import type { Exchange, Market, Series, Universe } from '../../contracts/domain/series.ts'
import type { Timeframe } from '../../contracts/domain/timeframes.ts'
import type { UnreachableVenue } from '../../contracts/errors/unreachable-venue.ts'
import type { MarketKind } from '../../contracts/events/event-catalogue.ts'

/** Bars of one timeframe that a market has of its own, not aggregated. Times are Unix milliseconds. */
export interface NativeBars {
  readonly timeframe: Timeframe
  /** Open time of the first bar; absent where the past has no known beginning. */
  readonly firstOpen?: number
  /** Close time of the last bar; absent where bars keep coming. */
  readonly lastClose?: number
}

/** One market that a feed can deliver. */
export interface MarketListing extends Market {
  readonly native: readonly NativeBars[]
  /** Every timeframe that can be asked for, native or aggregated, shortest first. */
  readonly timeframes: readonly Timeframe[]
  /** Whether its funding rates are delivered too. */
  readonly hasFunding: boolean
}

export interface BatchesRequest {
  /** The series whose bars are wanted. Their markets' funding comes with them. */
  readonly series: readonly Series[]
  /**
   * Bars that close after this instant are `live`, the ones before it `history`. A restart continues with it after its
   * last recorded bar, and a series is loaded on demand with it. Without it the feed decides.
   */
  readonly liveFrom?: number
  /**
   * Bars of a series that close after this instant are `run` where the market can run its clock; others take no
   * notice. Absent, or no earlier than now, where there is nothing to run.
   */
  readonly runFrom?: ((series: Series, now: number) => number) | undefined
  /** The series that somebody waits for now: where the clock is run, they go through their past before the others. */
  readonly awaited?: (() => Iterable<Series>) | undefined
  /** History is to reach back to this instant at least, as far as the market has it. */
  readonly historyFrom?: number
  /** Bars of each series that are wanted as history, where the feed has no number of its own; `LIMITS.historyBars` unless said. */
  readonly historyBars?: number
  /** Ends the iteration, quietly. */
  readonly signal: AbortSignal
}

/**
 * Data of a venue that is not used: rows that are no bars, prices that differ a hundredfold from those before, a newest
 * bar that is restated later (the first version stands), and a clock that goes back (no bar closes until it has caught
 * up).
 */
export const VENUE_FAULTS = ['row', 'leap', 'restated', 'clock'] as const

export type VenueFault = (typeof VENUE_FAULTS)[number]

/** How a venue that bars are fetched from is doing. */
export interface VenueHealth {
  readonly exchange: Exchange
  readonly state: 'ok' | 'degraded' | 'failed'
  /** For the operator: what was seen last, without credentials. */
  readonly detail: string
  /** Age of the newest bar of the venue, milliseconds; null before the first. */
  readonly dataAgeMs: number | null
  /** For everybody, while it does not answer. */
  readonly unreachable?: UnreachableVenue | undefined
  /** Number of unusable items that it sent since this process began, by kind; shown in `/metrics`. */
  readonly faults: Readonly<Record<VenueFault, number>>
}

/** The source of bars and funding. */
export interface MarketFeed {
  readonly kind: MarketKind
  /**
   * The present instant of this market, Unix milliseconds. The age of a series is this minus the close of its
   * newest bar: a recorded market is not old because its year is.
   */
  clock(): number
  /** Close of the newest bar that the clock was run through; infinite while it is run. */
  ranTo?(): number
  /**
   * All markets, ordered by exchange and coin.
   *
   * @throws ServiceError `market_data_missing`, `market_data_damaged`
   */
  listings(): Promise<readonly MarketListing[]>
  /**
   * Closed bars of the wanted series: first their history, then `live` bars, without a gap at the seam.
   * `at` rises strictly; every bar of a batch closes at its `at`; bars are ordered by timeframe, then by series
   * name. With `runFrom` all of this holds of the series that a batch names, and each group of them has a seam of its
   * own. A batch at which only funding was settled has no bars. Every iteration stands alone, and the same
   * request on the same data yields the same batches.
   *
   * @throws ServiceError `market_data_missing` for a series that is not listed, `market_data_damaged`
   */
  batches(request: BatchesRequest): AsyncIterable<BarBatch>
  /**
   * The coins of an exchange by 24-hour quote volume, largest first.
   *
   * @throws ServiceError `unknown_exchange`, `venue_unavailable`
   */
  universe(exchange: Exchange): Promise<Universe>
  /**
   * Whether a coin is gone from its venue for good: for a day all lists lacked it, or had it as not traded, and no
   * bar of it came. Who waits for its bars waits in vain, and may close what it has as incomplete. Until then it may
   * be suspended, or a list cut short: its series goes on by itself. Also true of what was never listed while this
   * process ran, a day after its start. Should it be listed again, it is not gone any more.
   *
   * `batches` refuses with `market_data_missing` what is gone, or was on no list of this process; a coin that only
   * the newest list lacks it goes on asking for.
   */
  isGone(market: Market): boolean
  /**
   * Why a contract that the venue lists is not followed: it is of a share, a metal or an index and not of a coin.
   * Undefined for coins, and for what the venue does not list.
   */
  whyNoCoin?(market: Market): string | undefined
  /** How every venue is doing; empty for a market that asks none. */
  venues(): readonly VenueHealth[]
  /** How far the newest iteration has come; undefined where the feed has no end or has not begun. */
  progress(): FeedProgress | undefined
}
