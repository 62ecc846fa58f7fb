import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { BoardEntry } from '../board.ts'
import type { MarketMetrics } from '../engine.ts'

/** A recorded verdict that is fresh enough to answer from. */
export interface FreshReading {
  readonly verdict: Verdict
  readonly metrics: MarketMetrics
  /** Market time since the bar closed, whole milliseconds, never negative. */
  readonly dataAgeMs: number
}

/** The market's clock, and how late a bar may be. */
export interface Freshness {
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  /** Beyond its bar's length, how late a series' newest bar may be; milliseconds of market time. */
  readonly staleAfterMs: number
}

const ageOf = (barClose: number, clock: number): number => Math.max(0, Math.floor(clock - barClose))

/** The time within the bar that is in the making is no age. */
const limitOf = ({ timeframe }: Series, { staleAfterMs }: Freshness): number =>
  timeframeMs(timeframe) + staleAfterMs

const isFresh = (series: Series, barClose: number, freshness: Freshness): boolean =>
  ageOf(barClose, freshness.clock()) <= limitOf(series, freshness)

/** Whether the history of a series has ended, at the present of its market, with too few bars for a verdict. */
export const isTooShort = (entry: BoardEntry, freshness: Freshness): boolean =>
  entry.isLive &&
  entry.recorded === undefined &&
  entry.bars < LIMITS.warmUpBars &&
  entry.barClose !== undefined &&
  isFresh(entry.series, entry.barClose, freshness)

/** Whether nothing is gained by waiting for a series: it has reached the present, or never will have enough bars. */
export const isSettled = (entry: BoardEntry, freshness: Freshness): boolean =>
  (entry.recorded !== undefined &&
    (entry.isLive || isFresh(entry.series, entry.recorded.verdict.barClose, freshness))) ||
  isTooShort(entry, freshness)

/**
 * The recorded verdict of a series, if it is one to answer from; undefined where the board has none, or none yet of the
 * present.
 *
 * @throws ServiceError `stale_market_data`
 */
export function freshReading(entry: BoardEntry | undefined, freshness: Freshness): FreshReading | undefined {
  if (entry?.recorded === undefined) return undefined
  const { verdict, metrics } = entry.recorded
  const dataAgeMs = ageOf(verdict.barClose, freshness.clock())
  const limitMs = limitOf(entry.series, freshness)
  if (dataAgeMs <= limitMs) return { verdict, metrics, dataAgeMs }
  // On the way to the present: the series is loading.
  if (!entry.isLive) return undefined
  const series = seriesName(entry.series)
  throw new ServiceError('stale_market_data', {
    message: `the newest bar of ${series} closed ${Math.round(dataAgeMs / 1_000)} s ago; after ${limitMs / 1_000} s it is not answered from`,
    details: { series, data_age_ms: dataAgeMs, limit_ms: limitMs },
  })
}

/** @param works the timeframes of the coin that have a verdict, or enough bars for one */
export function insufficientHistoryError(entry: BoardEntry, works: readonly Timeframe[]): ServiceError {
  const series = seriesName(entry.series)
  const instead = works.length === 0 ? 'no timeframe of the coin has' : `${works.join(', ')} would do`
  return new ServiceError('insufficient_history', {
    message: `${series} has ${entry.bars} closed bars of the ${LIMITS.warmUpBars} that a verdict needs; ${instead}`,
    details: { series, bars: entry.bars, bars_needed: LIMITS.warmUpBars, timeframes_that_work: works },
  })
}
