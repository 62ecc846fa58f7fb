import { isExchange, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { isTimeframe, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Board, BoardEntry } from '../board.ts'
import {
  type Freshness,
  type FreshReading,
  freshReading,
  insufficientHistoryError,
  isTooShort,
} from './board-reading.ts'
import type { Monitored, SeriesFinder } from './find-series.ts'
import type { OnDemandSeries } from './on-demand-series.ts'

export interface SeriesReaderOptions {
  readonly board: Board
  readonly finder: SeriesFinder
  readonly onDemand: OnDemandSeries
  readonly freshness: Freshness
  readonly monitored: Pick<Monitored, 'has' | 'mayHave'>
  /** Whether a series that is not monitored can be followed. */
  readonly canFollow: boolean
}

/** Names as a caller gives them. */
export interface NamedSeries {
  readonly exchange?: string | undefined
  readonly coin: string
  readonly timeframe: string
}

/** The fresh verdict of a series, which is followed for it where need be. */
export type SeriesReader = ReturnType<typeof createSeriesReader>

export function createSeriesReader(options: SeriesReaderOptions) {
  const { board, finder, onDemand, freshness, monitored, canFollow } = options

  /** The entry under exactly these names: what most requests ask for, and no list has to be looked through. */
  function exactEntry({ exchange = finder.defaultExchange ?? '', coin, timeframe }: NamedSeries) {
    if (!isExchange(exchange) || !isTimeframe(timeframe)) return undefined
    return board.get({ exchange, coin, timeframe })
  }

  async function timeframesThatWork(entry: BoardEntry): Promise<Timeframe[]> {
    const { exchange, coin, timeframe: tooLong } = entry.series
    const spanBars = (timeframe: Timeframe): number =>
      (entry.bars * timeframeMs(tooLong)) / timeframeMs(timeframe)
    const known = await finder.timeframes({ exchange, coin })
    return known.filter(
      (timeframe) =>
        timeframe !== tooLong &&
        (board.get({ exchange, coin, timeframe })?.recorded !== undefined ||
          (canFollow && spanBars(timeframe) >= LIMITS.warmUpBars)),
    )
  }

  async function load(series: Series, deadline: number, asker?: string): Promise<FreshReading> {
    // Following it here would block the run that is about to follow it.
    if (monitored.mayHave(series)) throw notChosenYetError(series)
    if (!monitored.has(series)) onDemand.keep(series, asker)
    const entry = await onDemand.settled(series, deadline)
    const reading = freshReading(entry, freshness)
    if (reading !== undefined) return reading
    // A series that cannot be followed will not have more bars in a moment.
    const isAllThereIs = entry !== undefined && entry.bars < LIMITS.warmUpBars && !canFollow
    if (entry !== undefined && (isAllThereIs || isTooShort(entry, freshness))) {
      throw insufficientHistoryError(entry, await timeframesThatWork(entry))
    }
    throw loadingError(series)
  }

  return {
    /**
     * @param deadline until when a series may be waited for; wall clock, Unix milliseconds
     * @param asker because of whom a series is followed that is not monitored
     * @throws ServiceError `unknown_exchange`, `unknown_coin`, `unknown_timeframe`, `insufficient_history`,
     *   `stale_market_data`, `series_loading`, `overloaded`, `venue_unavailable`
     */
    async read(given: NamedSeries, deadline: number, asker?: string): Promise<FreshReading> {
      const exact = exactEntry(given)
      const reading = freshReading(exact, freshness)
      if (exact !== undefined && reading !== undefined) {
        onDemand.touch(exact.series)
        return reading
      }
      return load(exact?.series ?? (await finder.series(given)), deadline, asker)
    },
  }
}

const notChosenYetError = (series: Series): ServiceError =>
  new ServiceError('series_loading', {
    message: `${seriesName(series)} may be monitored, which is known as soon as ${series.exchange} has said which coins it has`,
    details: { series: seriesName(series) },
  })

const loadingError = (series: Series): ServiceError =>
  new ServiceError('series_loading', {
    message: `${seriesName(series)} has no verdict yet; its history is being loaded`,
    details: { series: seriesName(series), waited_up_to_ms: LIMITS.onDemandWaitMs },
  })
