import { coinOfName } from '../../../contracts/domain/common-names.ts'
import {
  assetOf,
  type Coin,
  type Exchange,
  isExchange,
  type Market,
  marketName,
  type Series,
  type Universe,
} from '../../../contracts/domain/series.ts'
import { isTimeframe, TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { didYouMean, nearestName } from '../../../contracts/infra/input-faults.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'

/** Suffixes that venues append to a coin's symbol: quote currency and kind of contract. */
const APPENDIX = '(?:USDT|USDC|USD|PERP|SWAP)'

// Joined, with a separator, or several of them: BTCUSDT, BTC-USDT, BTC/USDT:USDT, BTC-USDT-SWAP.
const SYMBOL = new RegExp(`^(.+?)(?:${APPENDIX}|(?:[-_/:]${APPENDIX})+)$`)

/** The coin of a venue's symbol, in upper case; undefined where the symbol has nothing appended. */
export const bareCoin = (symbol: string): string | undefined => SYMBOL.exec(symbol)?.[1]

/** A market and its timeframes. */
export interface Listing extends Market {
  readonly timeframes: readonly Timeframe[]
}

/** The series that are always followed. The list may grow: a venue that was away joins when it answers. */
export interface Monitored {
  /** Also those of which no series is known yet. */
  readonly exchanges: readonly Exchange[]
  series(): readonly Series[]
  has(series: Series): boolean
  /** Whether it may become one of them in a moment: its venue has not said yet what it has. */
  mayHave(series: Series): boolean
}

/** The markets that callers can ask for. */
interface MarketIndex {
  /** In the order of the catalogue. */
  readonly exchanges: readonly Exchange[]
  /** By name. */
  coins(exchange: Exchange): readonly Coin[]
  /** Shortest first; empty for a market there is not. */
  timeframes(market: Market): readonly Timeframe[]
}

function indexMarkets(listings: readonly Listing[], monitored: readonly Series[]): MarketIndex {
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

export interface SeriesFinderOptions extends Pick<Clock, 'now'> {
  /** The listings of the market; without it only monitored series are available. */
  readonly listings: (() => Promise<readonly Listing[]>) | undefined
  readonly monitored: Monitored
  /** Exchanges that were chosen, the default first, whether or not they answer at the moment. */
  readonly exchanges: readonly Exchange[]
  /** The newest ranking there is, so that a refusal lists the largest coins first. */
  readonly newestUniverse: (exchange: Exchange) => Universe | undefined
}

/** How long a list of the market is used: a scan asks for a hundred coins at once. */
const INDEX_KEPT_MS = 1_000

/** Names as callers give them, turned into what exists. Every refusal lists what there is instead. */
export type SeriesFinder = ReturnType<typeof createSeriesFinder>

export function createSeriesFinder(options: SeriesFinderOptions) {
  const { listings, monitored, newestUniverse, now } = options
  const chosen = [...new Set([...options.exchanges, ...monitored.exchanges])]

  let kept: { readonly until: number; readonly index: Promise<MarketIndex> } | undefined

  async function makeIndex(): Promise<MarketIndex> {
    try {
      return indexMarkets(listings === undefined ? [] : await listings(), monitored.series())
    } catch (error) {
      kept = undefined
      throw error
    }
  }

  function index(): Promise<MarketIndex> {
    if (kept === undefined || now() >= kept.until) kept = { until: now() + INDEX_KEPT_MS, index: makeIndex() }
    return kept.index
  }

  function exchangeIn(markets: MarketIndex, given: string | undefined): Exchange {
    const name = given ?? chosen[0] ?? markets.exchanges[0] ?? ''
    if (isExchange(name) && markets.exchanges.includes(name)) return name
    const available = [...new Set([...chosen, ...markets.exchanges])]
    if (isExchange(name) && available.includes(name)) throw venueSilentError(name)
    const meant = nearestName(name, available)
    throw new ServiceError('unknown_exchange', {
      message: `there is no exchange ${JSON.stringify(name)} here; there are ${available.join(', ')}${didYouMean(meant)}`,
      details: { given: name, available, ...(meant !== undefined && { did_you_mean: meant }) },
    })
  }

  return {
    /** The exchange where none is named. */
    defaultExchange: chosen[0],

    /** @throws ServiceError `unknown_exchange`, `venue_unavailable` */
    exchange: async (given: string | undefined): Promise<Exchange> => exchangeIn(await index(), given),

    /** @throws ServiceError `unknown_exchange`, `venue_unavailable`, `unknown_coin`, `unknown_timeframe` */
    async series({
      exchange: givenExchange,
      coin: givenCoin,
      timeframe,
    }: {
      readonly exchange?: string | undefined
      readonly coin: string
      readonly timeframe: string
    }): Promise<Series> {
      const markets = await index()
      const exchange = exchangeIn(markets, givenExchange)
      const coin = coinIn(markets.coins(exchange), givenCoin, exchange, newestUniverse)
      const available = markets.timeframes({ exchange, coin })
      return {
        exchange,
        coin,
        timeframe: timeframeAmong(available, timeframe, marketName({ exchange, coin })),
      }
    },

    /** @throws ServiceError `unknown_timeframe` for one that no coin of the exchange has. */
    async timeframe(exchange: Exchange, given: string): Promise<Timeframe> {
      const markets = await index()
      const known = new Set(markets.coins(exchange).flatMap((coin) => markets.timeframes({ exchange, coin })))
      return timeframeAmong(
        TIMEFRAMES.filter((timeframe) => known.has(timeframe)),
        given,
        exchange,
      )
    },

    /** The timeframes of a market, shortest first. */
    timeframes: async (market: Market): Promise<readonly Timeframe[]> => (await index()).timeframes(market),
  }
}

function coinIn(
  coins: readonly Coin[],
  given: string,
  exchange: Exchange,
  newestUniverse: SeriesFinderOptions['newestUniverse'],
): Coin {
  const symbol = bareCoin(given)
  const bare = symbol === undefined ? undefined : coinOfName(symbol)
  const found = [given, symbol, bare].find((coin) => coin !== undefined && coins.includes(coin))
  if (found !== undefined) return found
  const bySize = largestFirst(coins, newestUniverse(exchange))
  const { asset } = assetOf(bare ?? given)
  const meant = bySize.find((coin) => assetOf(coin).asset === asset) ?? nearestName(bare ?? given, bySize)
  const shown = bySize.slice(0, LIMITS.namesInRefusal)
  throw new ServiceError('unknown_coin', {
    message: `there is no coin ${JSON.stringify(given)} on ${exchange}${didYouMean(meant)}`,
    details: {
      given,
      exchange,
      available: shown,
      total: coins.length,
      ...(meant !== undefined && { did_you_mean: meant }),
    },
  })
}

function timeframeAmong(available: readonly Timeframe[], given: string, what: string): Timeframe {
  if (isTimeframe(given) && available.includes(given)) return given
  const meant = isTimeframe(given) ? undefined : nearestName(given, available)
  throw new ServiceError('unknown_timeframe', {
    message: `${what} does not come in ${JSON.stringify(given)}; it comes in ${available.join(', ')}${didYouMean(meant)}`,
    details: { given, available, ...(meant !== undefined && { did_you_mean: meant }) },
  })
}

function largestFirst(coins: readonly Coin[], universe: Universe | undefined): Coin[] {
  const known = new Set(coins)
  const ranked = (universe?.coins ?? []).map(({ coin }) => coin).filter((coin) => known.has(coin))
  return [...new Set([...ranked, ...coins])]
}

const venueSilentError = (exchange: Exchange): ServiceError =>
  new ServiceError('venue_unavailable', {
    message: `${exchange} has not said which coins it has; it does not answer at the moment`,
    details: { exchange },
  })
