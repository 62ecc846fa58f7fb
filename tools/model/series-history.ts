import type { Candle } from '../../contracts/candle.ts'
import type { FundingRate } from '../../contracts/funding.ts'
import type { Series } from '../../contracts/series.ts'

/** A series with all its closed bars and the funding of its market, both in order of time. */
export interface SeriesHistory {
  readonly series: Series
  readonly bars: readonly Candle[]
  readonly funding: readonly FundingRate[]
}
