import { type Exchange, isExchange } from '../../../contracts/exchanges.ts'
import type { Coin, Market, Series } from '../../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'

/** A market and the timeframes that can be had of it. */
export interface Listing extends Market {
  readonly timeframes: readonly Timeframe[]
}

/** What is followed whether or not somebody asks. It may grow: a venue that was away joins when it answers. */
export interface Monitored {
  /** Also those of which no series is known yet. */
  readonly exchanges: readonly Exchange[]
  series(): readonly Series[]
  has(series: Series): boolean
  /** Whether it may become one of them in a moment: its venue has not said yet what it has. */
  mayHave(series: Series): boolean
}

/** What can be asked for. */
export interface MarketIndex {
  /** In the order of the catalogue. */
  readonly exchanges: readonly Exchange[]
  /** By name. */
  coins(exchange: Exchange): readonly Coin[]
  /** Shortest first; empty for a market there is not. */
  timeframes(market: Market): readonly Timeframe[]
}

/** @example indexMarkets(listings, monitored).timeframes({ exchange: 'SIM', coin: 'BTC' }) */
export function indexMarkets(listings: readonly Listing[], monitored: readonly Series[]): MarketIndex {
  const markets = new Map<Exchange, Map<Coin, Set<Timeframe>>>()
  const timeframesOf = ({ exchange, coin }: Market): Set<Timeframe> => {
    const coins = markets.get(exchange) ?? new Map<Coin, Set<Timeframe>>()
    markets.set(exchange, coins)
    const timeframes = coins.get(coin) ?? new Set()
    coins.set(coin, timeframes)
    return timeframes
  }
  for (const listing of listings) {
    if (listing.timeframes.length === 0) continue
    const known = timeframesOf(listing)
    for (const timeframe of listing.timeframes) known.add(timeframe)
  }
  for (const series of monitored) timeframesOf(series).add(series.timeframe)
  return {
    exchanges: [...markets.keys()].filter(isExchange).toSorted(),
    coins: (exchange) => [...(markets.get(exchange)?.keys() ?? [])].toSorted(),
    timeframes: ({ exchange, coin }) => {
      const known = markets.get(exchange)?.get(coin)
      return known === undefined ? [] : TIMEFRAMES.filter((timeframe) => known.has(timeframe))
    },
  }
}
