import type { Candle } from '../../contracts/candle.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { BarBatch } from '../../contracts/feed.ts'
import type { FundingRate } from '../../contracts/funding.ts'
import { type Market, marketName, type Series, seriesName } from '../../contracts/series.ts'
import type { Timeframe } from '../../contracts/timeframes.ts'
import type { SeriesHistory } from './series-history.ts'

/** Where bars come from: as much of a market feed as training needs. */
export interface HistoryFeed {
  listings(): Promise<readonly (Market & { readonly timeframes: readonly Timeframe[] })[]>
  batches(request: {
    readonly series: readonly Series[]
    readonly signal: AbortSignal
  }): AsyncIterable<BarBatch>
}

/**
 * Reads whole histories, by market and then timeframe.
 *
 * @param timeframes those that are wanted, of the ones a market has
 * @throws ServiceError `market_data_missing`, and whatever the feed throws
 */
export async function collectHistories(
  feed: HistoryFeed,
  timeframes: ReadonlySet<Timeframe>,
): Promise<SeriesHistory[]> {
  const listings = await feed.listings()
  const series = listings.flatMap(({ exchange, coin, timeframes: offered }) =>
    offered
      .filter((timeframe) => timeframes.has(timeframe))
      .map((timeframe) => ({ exchange, coin, timeframe })),
  )
  if (series.length === 0) {
    throw new ServiceError('market_data_missing', {
      message: `The data has no series of ${[...timeframes].join(', ')}.`,
    })
  }
  const barsOf = new Map(series.map((one): [string, Candle[]] => [seriesName(one), []]))
  const fundingOf = new Map<string, FundingRate[]>()
  for await (const batch of feed.batches({ series, signal: new AbortController().signal })) {
    for (const { market, funding } of batch.funding) {
      const known = fundingOf.get(marketName(market))
      if (known === undefined) fundingOf.set(marketName(market), [funding])
      else known.push(funding)
    }
    for (const { series: one, candle } of batch.bars) barsOf.get(seriesName(one))?.push(candle)
  }
  return series.map((one) => ({
    series: one,
    bars: barsOf.get(seriesName(one)) ?? [],
    funding: fundingOf.get(marketName(one)) ?? [],
  }))
}
