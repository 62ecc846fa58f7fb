import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
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
export function createMarketsSource(parts: MarketsSourceParts): MarketsSource {
  const { feed, projector, engine, watchList } = parts
  const recordedBar = (series: Series) =>
    projector?.reader(latestVerdicts).get(seriesName(series))?.verdict.barClose

  return {
    async markets() {
      const recorded = projector === undefined ? [] : newestVerdicts(projector)
      return withSeries(await feed.listings(), watchList?.series() ?? recorded)
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

type Markets = Awaited<ReturnType<MarketsSource['markets']>>

/** The listed markets, and the followed series that no listing names. */
export function withSeries(listed: Markets, followed: Iterable<Series>): Markets {
  const series = listed.flatMap(({ timeframes, ...market }) =>
    timeframes.map((timeframe) => ({ ...market, timeframe })),
  )
  const markets = Map.groupBy([...series, ...followed], ({ exchange, coin }) => `${exchange}.${coin}`)
  return [...markets.values()].flatMap((own) => {
    const timeframes = new Set(own.map(({ timeframe }) => timeframe))
    const ordered = TIMEFRAMES.filter((timeframe) => timeframes.has(timeframe))
    return own.slice(0, 1).map(({ exchange, coin }) => ({ exchange, coin, timeframes: ordered }))
  })
}
