import type { Candle } from '../../contracts/candle.ts'
import type { FundingRate } from '../../contracts/funding.ts'
import type { Series } from '../../contracts/series.ts'

/** An unbroken stretch of a series: its closed bars and the funding of its market, both in order of time. */
export interface SeriesHistory {
  readonly series: Series
  /** Whether the prices are of spot, which stands in where a perpetual contract was not recorded. */
  readonly isSpot: boolean
  readonly bars: readonly Candle[]
  readonly funding: readonly FundingRate[]
}
