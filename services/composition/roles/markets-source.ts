import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { latestVerdicts } from '../../../projections/index.ts'
import type { MarketsSource } from '../../http/routes/markets.ts'
import type { SharedParts } from '../shared-parts.ts'
import { newestVerdicts } from './newest-verdicts.ts'

export interface MarketsSourceParts extends Pick<SharedParts, 'feed' | 'projector' | 'watchList'> {
  readonly engine: { newestBar(series: Series): number | undefined } | undefined
}

/**
 * The markets that this process knows: the feed lists them, the board and the watch list of the engine say how fresh
 * they are. Without the engine role both follow from the verdicts recorded last, as far as this process has that read
 * model.
 */
export function createMarketsSource({
  feed,
  projector,
  engine,
  watchList,
}: MarketsSourceParts): MarketsSource {
  const recordedBar = (series: Series) =>
    projector?.reader(latestVerdicts).get(seriesName(series))?.verdict.barClose

  const recordedSeries = (): Iterable<Series> => (projector === undefined ? [] : newestVerdicts(projector))

  return {
    async markets() {
      const listed = await feed.listings()
      return withSeries(listed, watchList?.series() ?? recordedSeries())
    },
    newestBar: (series) => engine?.newestBar(series) ?? recordedBar(series),
    isRecorded(exchange, coin) {
      const reader = projector?.reader(latestVerdicts)
      if (reader?.health().state !== 'live') return undefined
      const prefix = coin === undefined ? `${exchange}.` : `${exchange}.${coin}.`
      return reader.range({ prefix, limit: 1 }).length > 0
    },
    isMonitored: (series) => watchList?.has(series),
    clock: () => feed.clock(),
  }
}

/** The listed markets, and the followed series that no listing names. */
export function withSeries(
  listed: Awaited<ReturnType<MarketsSource['markets']>>,
  followed: Iterable<Series>,
): Awaited<ReturnType<MarketsSource['markets']>> {
  const markets = new Map(
    listed
      .filter(({ timeframes }) => timeframes.length > 0)
      .map(({ exchange, coin, timeframes }) => [
        `${exchange}.${coin}`,
        { exchange, coin, timeframes: new Set<Timeframe>(timeframes) },
      ]),
  )
  for (const { exchange, coin, timeframe } of followed) {
    const name = `${exchange}.${coin}`
    const market = markets.get(name) ?? { exchange, coin, timeframes: new Set<Timeframe>() }
    market.timeframes.add(timeframe)
    markets.set(name, market)
  }
  return [...markets.values()].map(({ exchange, coin, timeframes }) => ({
    exchange,
    coin,
    timeframes: TIMEFRAMES.filter((timeframe) => timeframes.has(timeframe)),
  }))
}
