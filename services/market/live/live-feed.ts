import {
  type Exchange,
  type Market,
  marketName,
  rankUniverse,
  seriesName,
  type Universe,
  type UniverseEntry,
} from '../../../contracts/domain/series.ts'
import { lastBarClose, TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { unreachableText } from '../../../contracts/errors/unreachable-venue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { BatchesRequest, MarketFeed, MarketListing } from '../feed.ts'
import { BarLeg, legName } from './bar-leg.ts'
import { createFundingTrack } from './funding-track.ts'
import { liveBatches } from './live-batches.ts'
import type { LiveContext } from './live-context.ts'
import { planLegs } from './plan-legs.ts'
import { Venue, type VenueTurnover, venueUnavailableError } from './venue.ts'
import { createHealthRegistry, type HealthRegistry } from './venue-health.ts'
import type { VenueMarket } from './venue-listings.ts'
import { isLiveExchange, LIVE_EXCHANGES } from './venues.ts'

/** Something the operator should know about a venue. */
export interface VenueNotice {
  readonly exchange: Exchange
  readonly message: string
  /** The cause of a failure, in the words of the machine. */
  readonly detail?: string
}

export interface LiveFeedOptions extends Pick<Clock, 'now'> {
  /** The venues to ask; at least one. */
  readonly exchanges: readonly Exchange[]
  /** Other base addresses of venues: a proxy, or a venue of one's own for tests. */
  readonly venueUrls?: Readonly<Partial<Record<Exchange, string>>>
  /** Bars of each series that come as history, instead of the number in the request. */
  readonly historyBars?: number
  /** Ends after some milliseconds, or when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** From 0 up to 1. */
  readonly random: () => number
  readonly report: (notice: VenueNotice) => void
  readonly fetch?: typeof fetch
}

const LISTED: Omit<MarketListing, 'exchange' | 'coin'> = {
  native: [{ timeframe: '1m' }, { timeframe: '1h' }],
  timeframes: TIMEFRAMES,
  hasFunding: true,
}

/**
 * The venues themselves, through ccxt, which is loaded when a venue is first asked. Bars are fetched as 1m and 1h, the
 * others are made of them; only the past is made of 5m and 4h bars too.
 *
 * A venue that is down, slow or refuses a coin holds up no other: its bars come late, marked `isLate`, and in order for
 * each series.
 *
 * @throws ServiceError `config_invalid` for an exchange without a live feed
 */
export class LiveFeed implements MarketFeed {
  readonly #options: LiveFeedOptions
  readonly #venues: ReadonlyMap<Exchange, Venue>
  readonly #health: HealthRegistry
  readonly #never = new AbortController().signal
  readonly #universes = new Map<Exchange, Universe>()
  readonly #context: LiveContext
  readonly kind = 'live'
  readonly clock: () => number

  constructor(options: LiveFeedOptions) {
    this.#options = options
    this.#venues = openVenues(this.#options)
    this.#health = createHealthRegistry([...this.#venues.values()], this.#options.now)
    this.#context = {
      now: this.#options.now,
      sleep: this.#options.sleep,
      random: this.#options.random,
      failed: (venue, error) => {
        const [{ exchange }, detail] = [venue, reasonOf(error)]
        const away = venue.access()?.unreachable()
        if (this.#health.failed(exchange, detail))
          this.#options.report({
            exchange,
            message: away ? unreachableText(away) : detail,
            ...(away && { detail }),
          })
      },
      notice: (leg, message) =>
        this.#options.report({ exchange: leg.market.exchange, message: `${legName(leg)}: ${message}` }),
    }
    this.clock = this.#options.now
  }

  readonly #marketsOf = async (venue: Venue): Promise<readonly VenueMarket[]> => {
    try {
      return [...(await venue.markets(LIMITS.venueMarketsMs, this.#never)).values()]
    } catch (error) {
      this.#context.failed(venue, error)
      // The former list holds until the venue sends another.
      return [...venue.listings.traded().values()]
    }
  }

  readonly listings = async (): Promise<readonly MarketListing[]> => {
    const listed = await Promise.all(
      [...this.#venues.values()].map(async (venue) => {
        const { exchange } = venue
        return (await this.#marketsOf(venue)).map(({ coin }) => ({ exchange, coin, ...LISTED }))
      }),
    )
    return listed.flat().toSorted((a, b) => (marketName(a) < marketName(b) ? -1 : 1))
  }

  readonly #venueOf = ({ exchange }: Market): Venue => {
    const venue = this.#venues.get(exchange)
    if (venue !== undefined) return venue
    throw new ServiceError('unknown_exchange', {
      message: `${exchange} is not among the venues that are asked: ${[...this.#venues.keys()].join(', ')}`,
      details: { available: [...this.#venues.keys()] },
    })
  }

  async *batches(request: BatchesRequest) {
    const { series, historyBars = LIMITS.historyBars, signal } = request
    const liveFrom = request.liveFrom ?? lastBarClose('1m', this.#options.now())
    await Promise.all([...new Set(series.map(this.#venueOf))].map(this.#marketsOf))
    for (const one of series) checkListed(one, this.#venueOf(one))
    const plans = [...Map.groupBy(series, this.#venueOf)].flatMap(([{ keptBars }, own]) =>
      planLegs(own, {
        liveFrom,
        historyBars: this.#options.historyBars ?? historyBars,
        keptBars,
        ...(request.historyFrom !== undefined && { historyFrom: request.historyFrom }),
      }),
    )
    const legs = plans.map((plan) => new BarLeg(plan, this.#venueOf(plan.market), this.#options.now))
    const markets = new Map(
      series.map((one) => [marketName(one), { exchange: one.exchange, coin: one.coin }]),
    )
    const fundingFrom = Math.min(request.historyFrom ?? liveFrom, liveFrom - LIMITS.venueFundingMs)
    const tracks = [...markets.values()].map((market) =>
      createFundingTrack(this.#venueOf(market), market, fundingFrom, this.#options.now),
    )
    const leave = this.#health.follow(legs)
    try {
      yield* liveBatches({ series, legs, tracks, context: this.#context, liveFrom, signal })
    } finally {
      leave()
    }
  }

  readonly universe = async (exchange: Exchange): Promise<Universe> => {
    const venue = this.#venueOf({ exchange, coin: '' })
    const known = this.#universes.get(exchange)
    if (known !== undefined && this.#options.now() - known.rankedAt < LIMITS.venueUniverseMs) return known
    try {
      const entries = (await venue.turnovers(this.#never)).map(universeEntry)
      const ranked = rankUniverse(exchange, this.#options.now(), entries)
      this.#universes.set(exchange, ranked)
      return ranked
    } catch (error) {
      this.#context.failed(venue, error)
      throw venueUnavailableError(exchange, error)
    }
  }

  readonly isGone = (market: Market) =>
    this.#venues.get(market.exchange)?.listings.isGone(market.coin) ?? false

  readonly whyNoCoin = ({ exchange, coin }: Market) => whyNoCoin(coin, this.#venues.get(exchange))

  readonly venues = () => this.#health.read()

  readonly progress = () => undefined
}

function openVenues(options: LiveFeedOptions): ReadonlyMap<Exchange, Venue> {
  const { exchanges, venueUrls = {}, now, sleep, random, report } = options
  const venues = new Map<Exchange, Venue>()
  for (const exchange of new Set(exchanges)) {
    if (!isLiveExchange(exchange)) {
      throw new ServiceError('config_invalid', {
        message: `${exchange} has no live feed; choose from ${LIVE_EXCHANGES.join(', ')}`,
      })
    }
    const baseUrl = venueUrls[exchange]
    const venue = new Venue({
      exchange,
      fetch: options.fetch ?? fetch,
      now,
      sleep,
      random,
      report: (message) => report({ exchange, message }),
      ...(baseUrl !== undefined && { baseUrl }),
    })
    venues.set(exchange, venue)
  }
  if (venues.size === 0) {
    throw new ServiceError('config_invalid', {
      message: `a live market needs a venue; choose from ${LIVE_EXCHANGES.join(', ')}`,
    })
  }
  return venues
}

/** A coin whose volume the venue does not say counts as not traded. */
const universeEntry = ({ coin, quoteVolume24h, change24h }: VenueTurnover): UniverseEntry => ({
  coin,
  quoteVolume24h: quoteVolume24h >= 0 && Number.isFinite(quoteVolume24h) ? quoteVolume24h : 0,
  change24h: change24h >= -1 && Number.isFinite(change24h) ? change24h : null,
})

/** A venue that has not said yet what it lists is given the benefit of the doubt. */
function checkListed(series: Parameters<typeof seriesName>[0], venue: Venue): void {
  const { listings } = venue
  const isKnown = listings.find(series.coin) !== undefined && !listings.isGone(series.coin)
  if (listings.traded().size === 0 || isKnown) return
  const why =
    whyNoCoin(series.coin, venue) ?? `${series.exchange} lists no perpetual contract of ${series.coin}`
  throw new ServiceError('market_data_missing', {
    message: `${seriesName(series)} cannot be followed: ${why}`,
    details: { series: seriesName(series) },
  })
}

function whyNoCoin(coin: string, venue: Venue | undefined): string | undefined {
  const other = venue?.otherAsset(coin)
  if (venue === undefined || other === undefined) return undefined
  return `the contract of ${coin} on ${venue.exchange} is ${other.kind} (the venue states ${other.stated}); only coins are followed`
}
