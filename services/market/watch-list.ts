import { assetOf, type Coin, type Exchange, type Series, seriesName } from '../../contracts/domain/series.ts'
import { DAY_MS, TIMEFRAMES, type Timeframe } from '../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { Settings } from '../runtime/config/settings.ts'
import type { MarketFeed } from './feed.ts'
import { LIVE_EXCHANGES } from './live/venues.ts'

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
   * Follows all of them, in one run or several; resolves when the market ends, which a live one does at the signal.
   *
   * @throws only what `follow` does
   */
  follow<Run>(
    follow: (series: readonly Series[], until: AbortSignal) => Promise<Run>,
    signal: AbortSignal,
  ): Promise<readonly Run[]>
}

/**
 * Opens the list of the series that the settings choose.
 *
 * @throws ServiceError `market_data_missing` when nothing is left, saying what there is.
 */
export const openWatchList = async (
  feed: MarketFeed,
  settings: Settings,
  sleep: Clock['sleep'],
  news: WatchListNews = {},
): Promise<WatchList> =>
  settings.MARKET === 'live'
    ? venueWatchList(feed, settings, sleep, news)
    : listedWatchList(await listedSeries(feed, settings))

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
    follow: async (follow, signal) => [await follow(series, signal)],
  }
}

/** Pause before a venue that did not list its coins is asked again. */
const ASK_AGAIN_MS = 30_000
/** How often the largest coins are chosen again, and coins of the settings are looked for that were not listed. */
const CHOOSE_AGAIN_MS = DAY_MS

/**
 * Every venue in a run of its own: one that is down at the start joins when it answers. Coins that join later are
 * followed beside the others. Those that are not among the largest any more are followed on, for coins at the edge come
 * and go; once as many have left as are to be followed, the venue begins anew with the largest.
 */
function venueWatchList(
  feed: MarketFeed,
  settings: Settings,
  sleep: Clock['sleep'],
  news: WatchListNews,
): WatchList {
  const { COINS, TOP_COINS, EXCHANGES: exchanges = LIVE_EXCHANGES } = settings
  const timeframes: readonly Timeframe[] = settings.TIMEFRAMES ?? TIMEFRAMES
  const assets = COINS && new Set(COINS.map((coin) => assetOf(coin).asset))
  const followed = new Map<string, Series>()
  const pending = new Set(exchanges)
  const reported = new Map<string, string>()

  /** Reports what changed since the last report of its kind. */
  function report(kind: keyof WatchListNews, exchange: Exchange, coins: readonly Coin[]): void {
    const key = `${kind} ${exchange}`
    if ((reported.get(key) ?? '') !== coins.join()) news[kind]?.(exchange, coins)
    reported.set(key, coins.join())
  }

  async function followVenue<Run>(
    exchange: Exchange,
    follow: (series: readonly Series[], until: AbortSignal) => Promise<Run>,
    signal: AbortSignal,
  ): Promise<Run[]> {
    const ended: Run[] = []
    let runs: Promise<Run>[] = []
    let ending = new AbortController()
    for (;;) {
      // The ranking reports what fails here, and `/readyz` shows it.
      const { chosen, lacking } = await choose(feed, settings, exchange).catch(() => NOTHING_CHOSEN)
      const left = chosen.length === 0 ? [] : leftOf(exchange, [...followed.values()], chosen)
      if (lacking !== undefined) report('lacking', exchange, lacking)
      if (chosen.length > 0) report('left', exchange, left)
      // Of `COINS` none leaves for good: it may be suspended.
      if (COINS === undefined && left.length >= TOP_COINS) {
        ending.abort()
        ended.push(...(await Promise.all(runs)))
        runs = []
        ending = new AbortController()
        for (const [name, one] of followed) if (one.exchange === exchange) followed.delete(name)
      }
      const joining = chosen.filter((one) => !followed.has(seriesName(one)))
      if (joining.length > 0 && !signal.aborted) {
        for (const one of joining) followed.set(seriesName(one), one)
        pending.delete(exchange)
        runs.push(follow(joining, AbortSignal.any([signal, ending.signal])))
      }
      if ((await isOver(runs, sleep, signal)) || signal.aborted)
        return [...ended, ...(await Promise.all(runs))]
    }
  }

  return {
    exchanges,
    series: () => [...followed.values()],
    has: (one) => followed.has(seriesName(one)),
    mayHave: ({ exchange, coin, timeframe }) =>
      pending.has(exchange) && (assets?.has(assetOf(coin).asset) ?? true) && timeframes.includes(timeframe),
    pending: () => [...pending],
    describe() {
      const coins = COINS === undefined ? `the ${TOP_COINS} largest coins` : COINS.join(', ')
      return `${coins} of ${exchanges.join(', ')} at ${counted(timeframes.length, 'timeframe')}`
    },
    async follow(follow, signal) {
      return (await Promise.all(exchanges.map((one) => followVenue(one, follow, signal)))).flat()
    },
  }
}

interface Choice {
  readonly chosen: readonly Series[]
  /** Coins of the settings that the exchange does not rank. */
  readonly lacking: readonly Coin[] | undefined
}
const NOTHING_CHOSEN: Choice = { chosen: [], lacking: undefined }

async function choose(
  feed: MarketFeed,
  { COINS, TOP_COINS, TIMEFRAMES: timeframes }: Settings,
  exchange: Exchange,
): Promise<Choice> {
  const all = (await feed.universe(exchange)).coins.map(({ coin }) => coin)
  const coins = COINS === undefined ? all.slice(0, TOP_COINS) : COINS.flatMap((coin) => named(coin, all))
  return {
    chosen: [...new Set(coins)].flatMap((coin) =>
      (timeframes ?? TIMEFRAMES).map((timeframe): Series => ({ exchange, coin, timeframe })),
    ),
    lacking: COINS?.filter((coin) => named(coin, all).length === 0),
  }
}

/** The coins of an exchange that are followed and were not chosen this time. */
function leftOf(exchange: Exchange, followed: readonly Series[], chosen: readonly Series[]): readonly Coin[] {
  const still = new Set(chosen.map(({ coin }) => coin))
  const own = followed.filter((one) => one.exchange === exchange && !still.has(one.coin))
  return [...new Set(own.map(({ coin }) => coin))]
}

/** Whether all runs have ended by the time to choose again. */
async function isOver(
  runs: readonly Promise<unknown>[],
  sleep: Clock['sleep'],
  signal: AbortSignal,
): Promise<boolean> {
  const waiting = new AbortController()
  const until = AbortSignal.any([signal, waiting.signal])
  const later = sleep(runs.length === 0 ? ASK_AGAIN_MS : CHOOSE_AGAIN_MS, until).then(() => false)
  try {
    return await (runs.length === 0 ? later : Promise.race([later, Promise.all(runs).then(() => true)]))
  } finally {
    waiting.abort()
  }
}

/** The names of a coin at a venue: its own, or else those of its multiples. */
function named(coin: Coin, all: readonly Coin[]): readonly Coin[] {
  if (all.includes(coin)) return [coin]
  const { asset } = assetOf(coin)
  return all.filter((one) => assetOf(one).asset === asset)
}

/** The series of a market that knows them from the start. */
async function listedSeries(
  feed: MarketFeed,
  { EXCHANGES, COINS, TIMEFRAMES: timeframes }: Settings,
): Promise<Series[]> {
  const listings = await feed.listings()
  const series = listings
    .filter(
      ({ exchange, coin }) => (EXCHANGES?.includes(exchange) ?? true) && (COINS?.includes(coin) ?? true),
    )
    .flatMap(({ exchange, coin, timeframes: listed }) =>
      listed
        .filter((timeframe) => timeframes?.includes(timeframe) ?? true)
        .map((timeframe): Series => ({ exchange, coin, timeframe })),
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
  const coins = counted(
    count((one) => one.coin),
    'coin',
  )
  const timeframes = counted(
    count((one) => one.timeframe),
    'timeframe',
  )
  return `${series.length} series: ${coins}, ${timeframes} on ${exchanges}`
}

const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? '' : 's'}`

/** Allowed lateness of a bar, in market milliseconds: it grows with the speed, so that the wall time does not shrink. */
export const staleAfterMs = ({ MARKET_SPEED = 1 }: Settings): number =>
  LIMITS.staleAfterMs * Math.max(1, MARKET_SPEED)
