import type { Coin } from '../../../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../../../contracts/timeframes.ts'
import type { LiveExchange } from '../venues.ts'
import type { FakeMarket } from './fake-market.ts'

/** What a request asks a venue for. */
export type Route = 'markets' | 'candles' | 'tickers' | 'funding' | 'intervals' | 'openInterest'

export interface FakeRequest {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

export interface FakeAnswer {
  readonly route: Route
  readonly body: unknown
  readonly status?: number
}

/** How a venue writes its answers. */
export interface VenueFormat {
  readonly exchange: LiveExchange
  /** Where the shape of the answers comes from. */
  readonly source: string
  /** Undefined for an address that the venue does not have, as far as it is imitated. */
  answer(request: FakeRequest, market: FakeMarket): FakeAnswer | undefined
}

/** Said of every format: no answer of a real venue could be compared while it was written. */
export const BY_HAND = "made by hand from the venue's documentation"

export const numberOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text)

/** The timeframe that a venue calls so, where the names of a venue differ from ours. */
export const timeframeNamed = (
  names: Readonly<Partial<Record<Timeframe, string>>>,
  name: unknown,
): Timeframe => TIMEFRAMES.find((timeframe) => (names[timeframe] ?? timeframe) === String(name)) ?? '1m'

/** The listed coin whose symbol a venue writes so. */
export const coinNamed = (
  market: FakeMarket,
  symbolOf: (coin: Coin) => string,
  symbol: unknown,
): Coin | undefined => market.coins().find((coin) => symbolOf(coin) === symbol)

/** The newest of some rows, newest first. */
export const newestFirst = <Row>(rows: readonly Row[], limit: number): Row[] =>
  rows.slice(-limit).toReversed()
