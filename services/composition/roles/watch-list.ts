import { assetOf } from '../../../contracts/asset.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Coin, type Series, seriesName } from '../../../contracts/series.ts'
import { DAY_MS, TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import { type EngineRun, NOTHING_RUN, together } from '../../engine/index.ts'
import { LIVE_EXCHANGES, type MarketFeed } from '../../market/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'

/** Follows some series until the market ends, or the signal. */
export type FollowSeries = (series: readonly Series[], until: AbortSignal) => Promise<EngineRun>

type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>

type CoinNews = (exchange: Exchange, coins: readonly Coin[]) => void

export interface WatchListNews {
  /** Coins of the settings that a venue does not rank. */
  readonly lacking?: CoinNews
  /** Coins that are not chosen any more, and are followed on. */
  readonly left?: CoinNews
}

export interface WatchList {
  /** The exchanges that were chosen, in the order of the settings. */
  readonly exchanges: readonly Exchange[]
  /** The series as far as they are known; those of a venue are known once it has answered. */
  series(): readonly Series[]
  has(series: Series): boolean
  /** Whether it may join them once its venue has answered. */
  mayHave(series: Series): boolean
  /** Exchanges that have not listed their coins yet, so that none of them is followed. */
  pending(): readonly Exchange[]
  /** In one line, for people. */
  describe(): string
  /**
   * Follows all of them; resolves when the market ends, which a live one does at the signal.
   *
   * @throws only what `follow` does
   */
  follow(follow: FollowSeries, signal: AbortSignal): Promise<EngineRun>
}

/**
 * Opens the list of the series that the settings choose.
 *
 * @throws ServiceError `market_data_missing` when nothing is left, saying what there is.
 */
export async function openWatchList(
  feed: MarketFeed,
  settings: Settings,
  sleep: Sleep,
  news: WatchListNews = {},
): Promise<WatchList> {
  return settings.MARKET === 'live'
    ? new VenueWatchList(feed, settings, sleep, news)
    : listedWatchList(await chooseSeries(feed, settings))
}

/** All series in one run, so that bars which close together are computed together. */
function listedWatchList(series: readonly Series[]): WatchList {
  const names = new Set(series.map(seriesName))
  return {
    exchanges: [...new Set(series.map(({ exchange }) => exchange))],
    series: () => series,
    has: (one) => names.has(seriesName(one)),
    mayHave: () => false,
    pending: () => [],
    describe: () => describeSeries(series),
    follow: (follow, signal) => follow(series, signal),
  }
}

/** Pause before a venue that did not list its coins is asked again. */
const ASK_AGAIN_MS = 30_000

/** How often the largest coins are chosen again, and coins of the settings are looked for that were not listed. */
const CHOOSE_AGAIN_MS = DAY_MS

/**
 * Every venue in a run of its own: one that is down at the start joins when it answers. Coins that join later are
 * followed beside the others. Those that are not among the largest any more are followed on, for coins at the edge come
 * and go; once as many have left as are to be followed, the venue begins anew with the largest, and what the others
 * still have open gets its outcomes without being followed.
 */
class VenueWatchList implements WatchList {
  readonly exchanges: readonly Exchange[]
  readonly #feed: MarketFeed
  readonly #settings: Settings
  readonly #timeframes: readonly Timeframe[]
  readonly #sleep: Sleep
  readonly #news: WatchListNews
  readonly #assets: ReadonlySet<string> | undefined
  /** By name. */
  readonly #followed = new Map<string, Series>()
  readonly #pending: Set<Exchange>
  readonly #told = new Map<string, string>()

  constructor(feed: MarketFeed, settings: Settings, sleep: Sleep, news: WatchListNews) {
    this.exchanges = settings.EXCHANGES ?? LIVE_EXCHANGES
    this.#feed = feed
    this.#settings = settings
    this.#timeframes = settings.TIMEFRAMES ?? TIMEFRAMES
    this.#sleep = sleep
    this.#news = news
    this.#assets = settings.COINS && new Set(settings.COINS.map((coin) => assetOf(coin).asset))
    this.#pending = new Set(this.exchanges)
  }

  series(): readonly Series[] {
    return [...this.#followed.values()]
  }

  has(series: Series): boolean {
    return this.#followed.has(seriesName(series))
  }

  mayHave({ exchange, coin, timeframe }: Series): boolean {
    const isChosen = this.#assets?.has(assetOf(coin).asset) ?? true
    return this.#pending.has(exchange) && isChosen && this.#timeframes.includes(timeframe)
  }

  pending(): readonly Exchange[] {
    return [...this.#pending]
  }

  describe(): string {
    const { COINS, TOP_COINS } = this.#settings
    const coins = COINS === undefined ? `the ${TOP_COINS} largest coins` : COINS.join(', ')
    return `${coins} of ${this.exchanges.join(', ')} at ${counted(this.#timeframes.length, 'timeframe')}`
  }

  async follow(follow: FollowSeries, signal: AbortSignal): Promise<EngineRun> {
    const runs = this.exchanges.map((exchange) => this.#followVenue(exchange, follow, signal))
    return (await Promise.all(runs)).reduce(together, NOTHING_RUN)
  }

  async #followVenue(exchange: Exchange, follow: FollowSeries, signal: AbortSignal): Promise<EngineRun> {
    const { COINS, TOP_COINS } = this.#settings
    let runs: Promise<EngineRun>[] = []
    let ending = new AbortController()
    let before = NOTHING_RUN
    const sum = async (): Promise<EngineRun> => (await Promise.all(runs)).reduce(together, before)
    for (;;) {
      // The ranking tells the operator what fails here, and `/readyz` shows it.
      const chosen = await this.#choose(exchange).catch(() => [])
      const left = chosen.length === 0 ? [] : this.#leftOf(exchange, chosen)
      if (chosen.length > 0) this.#announce('left', exchange, left)
      // Of `COINS` none leaves for good: it may be suspended.
      if (COINS === undefined && left.length >= TOP_COINS) {
        ending.abort()
        before = await sum()
        runs = []
        ending = new AbortController()
        for (const [name, one] of this.#followed) if (one.exchange === exchange) this.#followed.delete(name)
      }
      const joining = chosen.filter((one) => !this.has(one))
      if (joining.length > 0 && !signal.aborted) {
        for (const one of joining) this.#followed.set(seriesName(one), one)
        this.#pending.delete(exchange)
        runs.push(follow(joining, AbortSignal.any([signal, ending.signal])))
      }
      const isOver = await this.#over(runs, signal)
      if (isOver || signal.aborted) return sum()
    }
  }

  async #choose(exchange: Exchange): Promise<Series[]> {
    const { COINS, TOP_COINS } = this.#settings
    const all = (await this.#feed.universe(exchange)).coins.map(({ coin }) => coin)
    const chosen = COINS === undefined ? all.slice(0, TOP_COINS) : COINS.flatMap((coin) => named(coin, all))
    const lacking = COINS?.filter((coin) => named(coin, all).length === 0)
    if (lacking !== undefined) this.#announce('lacking', exchange, lacking)
    return [...new Set(chosen)].flatMap((coin) =>
      this.#timeframes.map((timeframe): Series => ({ exchange, coin, timeframe })),
    )
  }

  #announce(what: keyof WatchListNews, exchange: Exchange, coins: readonly Coin[]): void {
    const key = `${what} ${exchange}`
    const text = coins.join()
    if ((this.#told.get(key) ?? '') !== text) this.#news[what]?.(exchange, coins)
    this.#told.set(key, text)
  }

  /** The coins of an exchange that are followed and were not chosen this time. */
  #leftOf(exchange: Exchange, chosen: readonly Series[]): readonly Coin[] {
    const still = new Set(chosen.map(({ coin }) => coin))
    const own = this.series().filter((one) => one.exchange === exchange && !still.has(one.coin))
    return [...new Set(own.map(({ coin }) => coin))]
  }

  /** Whether all runs have ended by the time to choose again. */
  async #over(runs: readonly Promise<EngineRun>[], signal: AbortSignal): Promise<boolean> {
    const waiting = new AbortController()
    const milliseconds = runs.length === 0 ? ASK_AGAIN_MS : CHOOSE_AGAIN_MS
    const later = this.#sleep(milliseconds, AbortSignal.any([signal, waiting.signal])).then(() => false)
    const ended = Promise.all(runs).then(() => true)
    try {
      return await (runs.length === 0 ? later : Promise.race([later, ended]))
    } finally {
      waiting.abort()
    }
  }
}

/** The names of a coin at a venue: its own, or else those of its multiples. */
function named(coin: Coin, all: readonly Coin[]): readonly Coin[] {
  if (all.includes(coin)) return [coin]
  const { asset } = assetOf(coin)
  return all.filter((one) => assetOf(one).asset === asset)
}

/** The series of a market that knows them from the start. */
async function chooseSeries(feed: MarketFeed, settings: Settings): Promise<Series[]> {
  const { EXCHANGES, COINS, TIMEFRAMES: timeframes } = settings
  const listings = await feed.listings()
  const series = listings
    .filter(
      ({ exchange, coin }) => (EXCHANGES?.includes(exchange) ?? true) && (COINS?.includes(coin) ?? true),
    )
    .flatMap((listing) =>
      listing.timeframes
        .filter((timeframe) => timeframes?.includes(timeframe) ?? true)
        .map((timeframe): Series => ({ exchange: listing.exchange, coin: listing.coin, timeframe })),
    )
  if (series.length > 0) return series
  const available = listings.map(({ exchange, coin }) => `${exchange}.${coin}`)
  throw new ServiceError('market_data_missing', {
    message: `EXCHANGES, COINS and TIMEFRAMES leave no series to monitor; the market has ${available.join(', ') || 'none'}`,
  })
}

function describeSeries(series: readonly Series[]): string {
  const count = (part: (one: Series) => string): number => new Set(series.map(part)).size
  const [first] = series
  if (series.length === 1 && first !== undefined) return seriesName(first)
  const exchanges = [...new Set(series.map((one) => one.exchange))].join(', ')
  const [coins, timeframes] = [count((one) => one.coin), count((one) => one.timeframe)]
  return `${series.length} series: ${counted(coins, 'coin')}, ${counted(timeframes, 'timeframe')} on ${exchanges}`
}

const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? '' : 's'}`

/** Allowed lateness of a bar, in market milliseconds: it grows with the speed, so that the wall time does not shrink. */
export const staleAfterMs = ({ MARKET_SPEED = 1 }: Settings): number =>
  LIMITS.staleAfterMs * Math.max(1, MARKET_SPEED)
