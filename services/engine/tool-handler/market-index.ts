import { type Exchange, isExchange } from '../../../contracts/exchanges.ts'
import type { Coin, Market, Series } from '../../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'

/** What venues append to a coin's symbol: the currency it is quoted in, and the kind of contract. */
const APPENDIX = '(?:USDT|USDC|USD|PERP|SWAP)'

// Joined, with a separator, or several of them: BTCUSDT, BTC-USDT, BTC/USDT:USDT, BTC-USDT-SWAP.
const SYMBOL = new RegExp(`^(.+?)(?:${APPENDIX}|(?:[-_/:]${APPENDIX})+)$`)

/**
 * The coin of a venue's symbol, in upper case; undefined where the symbol has nothing appended.
 *
 * @example bareCoin('BTC/USDT:USDT') === 'BTC'
 */
export const bareCoin = (symbol: string): string | undefined => SYMBOL.exec(symbol)?.[1]

/** Letters added, left out or changed for which one name is still taken for another. */
const MOST_EDITS = 2

/**
 * The name that somebody most likely meant; the first of those that are equally near. Undefined where none is
 * near: a third of the letters may differ, and two at most. A name with a count before it (`1000PEPE`) is near.
 *
 * @example nearestName('BTCC', ['ETH', 'BTC']) === 'BTC'
 */
export function nearestName(given: string, names: Iterable<string>): string | undefined {
  let best: string | undefined
  let fewest = Math.min(MOST_EDITS, Math.floor(given.length / 3)) + 1
  for (const name of names) {
    if (name.replace(/^10+/, '') === given.replace(/^10+/, '')) return name
    if (Math.abs(name.length - given.length) >= fewest) continue
    const edits = editsBetween(given, name)
    if (edits < fewest) [best, fewest] = [name, edits]
  }
  return best
}

/** Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

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
