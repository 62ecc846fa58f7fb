import type { Candle } from '../../../contracts/candle.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Coin, coinSchema, type Market, marketName, type Series } from '../../../contracts/series.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { RawFunding } from '../normalise-funding.ts'
import { adoptMarkets, type CcxtClient, type CcxtMarket, loadCcxt, openCcxtClient } from './ccxt-client.ts'
import { closedBars } from './closed-bars.ts'
import { fetchFunding } from './fetch-funding.ts'
import type { OrderFlow } from './kept/kept-bar.ts'
import { createRateBudget } from './rate-budget.ts'
import { createStatedIntervals } from './stated-intervals.ts'
import { createVenueAccess, type VenueAccess } from './venue-access.ts'
import { VenueFailure } from './venue-failure.ts'
import { createVenueFaults, type VenueFaults } from './venue-faults.ts'
import { createVenueListings, type VenueListings, type VenueMarket } from './venue-listings.ts'
import { createVenueTransport } from './venue-transport.ts'
import { type CcxtTicker, type LiveExchange, VENUES, type VenueDefinition } from './venues.ts'

/** Figures that a coin is ranked by. Quote currency; NaN when the venue does not state them. */
export interface VenueTurnover {
  readonly coin: Coin
  readonly quoteVolume24h: number
  readonly openInterest: number
  readonly change24h: number
  /** The price that positions are valued at; NaN where the venue does not say. */
  readonly mark: number
}

/** A page of bars, with what the venue said of the trading within each, by open time. */
export interface VenueBars {
  /** Closed bars, oldest first, one per open time. */
  readonly bars: readonly Candle[]
  readonly flow: ReadonlyMap<number, Pick<OrderFlow, 'trades' | 'takerBuyVolume'>>
}

/** One venue, asked within its limits. Every method may throw {@link VenueFailure} or `venue_unavailable`. */
export interface Venue {
  readonly exchange: Exchange
  /** Bars in one page. */
  readonly pageBars: number
  /** Bars of each timeframe that it keeps; infinite where they are as many as anybody asks for. */
  readonly keptBars: number
  /** Null until the venue was first asked. */
  access(): VenueAccess | undefined
  /** How far the venue's clock is behind ours, milliseconds, never negative: its bars close by its clock. */
  clockBehindMs(): number
  /** Counts of unusable data that it sent. */
  readonly faults: VenueFaults
  /** Its present and former listings. */
  readonly listings: Pick<VenueListings, 'traded' | 'find' | 'isGone'>
  /** The markets that are traded, from a list not older than `maxAgeMs`. */
  markets(maxAgeMs: number, signal: AbortSignal): Promise<ReadonlyMap<Coin, VenueMarket>>
  /** The closed bars that open from `since` on, a page of them at most, in order. */
  bars(series: Series, since: number, count: number, signal: AbortSignal): Promise<VenueBars>
  /** Hours between settlements at present, where the venue says them; read anew by {@link Venue.funding}. */
  fundingHours(coin: Coin): number | undefined
  /** Settlements from an instant on; fewer where the venue does not keep them so long. */
  funding(market: Market, since: number, signal: AbortSignal): Promise<readonly RawFunding[]>
  turnovers(signal: AbortSignal): Promise<readonly VenueTurnover[]>
  /** Whether one request returns open interest or mark of all contracts. */
  readonly publishesPositions: boolean
}

export interface VenueOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly exchange: LiveExchange
  readonly baseUrl?: string
  readonly fetch: typeof fetch
  readonly random: () => number
  /** Told now and then of what it sends and cannot be used. */
  readonly report?: (message: string) => void
}

/** Units that may go out at once after a quiet time. */
const BURST_UNITS = 10

/** Behind less than this a clock is right: the venue writes whole seconds, and the answer travels. */
const CLOCK_GRACE_MS = 2_000

/** Answers overtake one another, and the servers behind one address differ; beyond this a clock was set back. */
const CLOCK_BACK_MS = 30_000

interface OpenVenue {
  readonly client: CcxtClient
  readonly access: VenueAccess
  /** Waits for weight that ccxt does not count. */
  readonly take: (weight: number) => Promise<void>
}

/** @example const venue = createVenue({ exchange: 'OKX', fetch, now: Date.now, sleep, random: Math.random }) */
export function createVenue(options: VenueOptions): Venue {
  const { exchange, now } = options
  const definition = VENUES[exchange]
  const { pageBars, keptBars = Number.POSITIVE_INFINITY } = definition
  let opening: Promise<OpenVenue> | undefined
  let opened: OpenVenue | undefined
  const faults = createVenueFaults(exchange, now, (message) => report(message))
  const listings = createVenueListings(now)
  const report = options.report ?? ((): void => undefined)
  const intervals = createStatedIntervals({ stating: definition.statedIntervals, ask, now, report })
  const everListed = new Map<string, CcxtMarket>()
  let newestVenueTime = Number.NEGATIVE_INFINITY
  let marketsAt = Number.NEGATIVE_INFINITY
  let fetchingMarkets: Promise<void> | undefined
  let behindMs = 0

  function takeVenueTime(time: number): void {
    const behind = now() - time
    behindMs = behind > CLOCK_GRACE_MS ? behind : 0
    // Its bars close by its clock, so nothing is taken until that is where it was.
    if (newestVenueTime - time > CLOCK_BACK_MS)
      faults.note('clock', undefined, `its clock went back to ${new Date(time).toISOString()}`)
    newestVenueTime = time
  }

  const openOnce = async (): Promise<OpenVenue> => {
    opening ??= openVenue(options, definition, takeVenueTime)
    opened = await opening
    return opened
  }

  async function ask<Answer>(
    request: (client: CcxtClient) => Promise<Answer>,
    signal: AbortSignal,
    extraWeight = 0,
  ): Promise<Answer> {
    const { client, access, take } = await openOnce()
    return access.ask(async () => {
      if (extraWeight > 0) await take(extraWeight)
      return request(client)
    }, signal)
  }

  async function fetchMarkets(signal: AbortSignal): Promise<void> {
    const method = definition.marketsMethod ?? 'fetchMarkets'
    const all = await ask((client) => client[method]({}), signal)
    const usable = all.filter((market) => isPerpetual(market, definition))
    if (!usable.some(isTraded)) {
      throw new VenueFailure(
        'refused',
        `${exchange} lists ${all.length} markets, none a traded perpetual contract in ${definition.quote}`,
      )
    }
    const { client } = await openOnce()
    // What a list lacks may only be missing from it: its bars are asked for all the same.
    for (const market of all) everListed.set(market.symbol, market)
    adoptMarkets(client, [...everListed.values()])
    listings.takeList(
      usable.map((market) => ({
        coin: market.base,
        symbol: market.symbol,
        contractSize: market.contractSize ?? 1,
        fundingHours: positive(definition.listedFundingHours?.(market.info ?? {})),
        isTraded: isTraded(market),
      })),
    )
    marketsAt = now()
  }

  async function freshMarkets(
    maxAgeMs: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Coin, VenueMarket>> {
    if (now() - marketsAt > maxAgeMs || marketsAt > now()) {
      fetchingMarkets ??= fetchMarkets(signal).finally(() => {
        fetchingMarkets = undefined
      })
      await fetchingMarkets
    }
    return listings.traded()
  }

  async function marketOf(market: Market, signal: AbortSignal): Promise<VenueMarket> {
    if (listings.traded().size === 0) await freshMarkets(LIMITS.venueMarketsMs, signal)
    const found = listings.find(market.coin)
    if (found === undefined) throw new VenueFailure('unknown_symbol', `${marketName(market)} is not listed`)
    return found
  }

  async function bars(series: Series, since: number, count: number, signal: AbortSignal) {
    const { symbol, contractSize } = await marketOf(series, signal)
    const limit = Math.min(count, pageBars)
    const extra = definition.extraBarWeight?.(limit) ?? 0
    const rows = await ask(
      (client) => askBars(client, symbol, series.timeframe, since, limit, definition),
      signal,
      extra,
    )
    const inCoins = definition.volumeIn === 'coins' ? 1 : contractSize
    const raw = rows.map(([openTime, open, high, low, close, volume]) => ({
      openTime: openTime ?? Number.NaN,
      open: open ?? Number.NaN,
      high: high ?? Number.NaN,
      low: low ?? Number.NaN,
      close: close ?? Number.NaN,
      volume: toCoins(volume ?? Number.NaN, inCoins),
    }))
    const asked = raw.filter(({ openTime }) => !(openTime < since))
    const closed = closedBars(asked, {
      series,
      now: now() - behindMs,
      onFault: (fault, times) => faults.note('row', series, fault, times),
    })
    const newest = closed.at(-1)
    if (newest !== undefined) listings.takeBar(series.coin, newest.openTime + timeframeMs(series.timeframe))
    const flow = new Map(
      rows.map(([openTime = Number.NaN, , , , , , trades = Number.NaN, bought = Number.NaN]) => [
        openTime,
        { trades, takerBuyVolume: toCoins(bought, inCoins) },
      ]),
    )
    return { bars: closed, flow }
  }

  async function funding(market: Market, since: number, signal: AbortSignal): Promise<readonly RawFunding[]> {
    const { symbol } = await marketOf(market, signal)
    await intervals.refresh(symbol, signal)
    return fetchFunding(definition, since, now(), (from, params) =>
      ask((client) => client.fetchFundingRateHistory(symbol, from, definition.fundingRows, params), signal),
    )
  }

  function fundingHours(coin: Coin): number | undefined {
    const listed = listings.find(coin)
    return listed && (listed.fundingHours ?? intervals.hoursOf(listed.symbol))
  }

  async function turnovers(signal: AbortSignal): Promise<readonly VenueTurnover[]> {
    const listed = await freshMarkets(LIMITS.venueMarketsMs, signal)
    const tickers = await ask((client) => client.fetchTickers(), signal)
    const interests =
      definition.openInterestRequest === undefined
        ? {}
        : await ask((client) => client.fetchOpenInterests(), signal)
    return [...listed.values()].flatMap(({ coin, symbol, contractSize }) => {
      const ticker = tickers[symbol]
      if (ticker === undefined) return []
      const separate = interests[symbol]?.openInterestValue
      return {
        coin,
        quoteVolume24h: (definition.quoteVolume ?? plainQuoteVolume)(ticker),
        openInterest: separate ?? definition.openInterest?.(ticker, contractSize) ?? Number.NaN,
        change24h: (ticker.percentage ?? Number.NaN) / 100,
        mark: definition.mark?.(ticker) ?? Number.NaN,
      }
    })
  }

  return {
    exchange,
    pageBars,
    keptBars,
    access: () => opened?.access,
    clockBehindMs: () => behindMs,
    faults,
    listings,
    markets: freshMarkets,
    bars,
    fundingHours,
    funding,
    turnovers,
    publishesPositions: [definition.openInterest, definition.openInterestRequest, definition.mark].some(
      Boolean,
    ),
  }
}

async function openVenue(
  options: VenueOptions,
  definition: VenueDefinition,
  onVenueTime: (time: number) => void,
): Promise<OpenVenue> {
  const { exchange, baseUrl, now, sleep, random } = options
  const ccxt = await loadCcxt()
  const never = new AbortController().signal
  let take = (_weight: number): Promise<void> => Promise.resolve()
  const client = openCcxtClient(ccxt, {
    definition,
    transport: createVenueTransport({
      fetch: options.fetch,
      onVenueTime,
      ...(baseUrl !== undefined && { baseUrl }),
    }),
    throttle: (weight) => take(weight),
    now,
  })
  const budget = createRateBudget({
    msPerUnit: definition.msPerUnit ?? client.rateLimit,
    burstUnits: BURST_UNITS,
    now,
    sleep,
  })
  take = (weight) => budget.take(weight, never)
  const classify = (error: unknown): VenueFailure => {
    if (error instanceof VenueFailure) return error
    const message = reasonOf(error)
    if (error instanceof ccxt.UnknownSymbol)
      return new VenueFailure('unknown_symbol', message, { cause: error })
    const isPassing =
      error instanceof ccxt.Passing || error instanceof TypeError || error instanceof SyntaxError
    return new VenueFailure(isPassing ? 'passing' : 'refused', message, { cause: error })
  }
  const access = createVenueAccess({ exchange, budget, classify, now, sleep, random })
  return { client, access, take }
}

const isPerpetual = (market: CcxtMarket, { quote }: VenueDefinition): boolean =>
  market.swap &&
  market.linear === true &&
  market.quote === quote &&
  market.settle === quote &&
  coinSchema.safeParse(market.base).success

/** Suspended contracts, and those that are not open yet or settled, stay in the lists of many venues. */
const isTraded = ({ active }: CcxtMarket): boolean => active !== false

function askBars(
  client: CcxtClient,
  symbol: string,
  timeframe: Timeframe,
  since: number,
  limit: number,
  { ignoresTimes, asksUntil }: VenueDefinition,
) {
  // Short of the next open time, and of rounding to seconds: one bar more, and some drop the oldest instead.
  const until = since + limit * timeframeMs(timeframe) - 1_000
  return client.fetchOHLCV(
    symbol,
    timeframe,
    since,
    ignoresTimes ? undefined : limit,
    asksUntil ? { until } : {},
  )
}

const positive = (value = Number.NaN): number | undefined => (value > 0 ? value : undefined)

/** Contracts are counted in whole numbers, coins in decimals of at most eight places. */
const toCoins = (volume: number, contractSize: number): number =>
  contractSize === 1 ? volume : Math.round(volume * contractSize * 1e8) / 1e8

const plainQuoteVolume = ({ quoteVolume }: CcxtTicker): number => quoteVolume ?? Number.NaN

/** The error a caller of the feed sees for a failed request. */
export const venueUnavailableError = (exchange: Exchange, error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('venue_unavailable', {
        message: `${exchange} does not answer: ${reasonOf(error)}`,
        details: { exchange },
        cause: error,
      })
