import type { Candle } from '../../../contracts/domain/candle.ts'
import {
  type Coin,
  coinSchema,
  type Exchange,
  type Market,
  marketName,
  type Series,
  seriesName,
} from '../../../contracts/domain/series.ts'
import { HOUR_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { VenueFault } from '../feed.ts'
import { toMilliseconds } from '../instant-unit.ts'
import type { RawFunding } from '../normalise-funding.ts'
import { adoptMarkets, type CcxtClient, type CcxtMarket } from './ccxt-client.ts'
import { closedBars, instantFault } from './closed-bars.ts'
import { fetchFunding } from './fetch-funding.ts'
import { type OpenVenue, openVenue, type VenueOptions } from './open-venue.ts'
import { groupNames, namesOfOther, type OtherAsset, otherAssetOf } from './stated-asset.ts'
import { createStatedIntervals, type StatedIntervals } from './stated-intervals.ts'
import type { VenueAccess } from './venue-access.ts'
import { VenueFailure } from './venue-failure.ts'
import { createVenueListings, type VenueListings, type VenueMarket } from './venue-listings.ts'
import { type CcxtTicker, type LiveExchange, VENUES, type VenueDefinition } from './venues.ts'

/** Figures that a coin is ranked by. Quote currency; NaN when the venue does not state them. */
export interface VenueTurnover {
  readonly coin: Coin
  readonly quoteVolume24h: number
  readonly change24h: number
}

/** Behind less than this a clock is right: the venue writes whole seconds, and the answer travels. */
const CLOCK_GRACE_MS = 2_000

/** Answers overtake one another, and the servers behind one address differ; beyond this a clock was set back. */
const CLOCK_BACK_MS = 30_000

const UNITS = { s: 'seconds', us: 'microseconds', ns: 'nanoseconds' } as const

/** One venue, asked within its limits. Every method may throw {@link VenueFailure} or `venue_unavailable`. */
export class Venue {
  readonly #options: VenueOptions
  readonly exchange: LiveExchange
  readonly #definition: VenueDefinition
  /** Bars in one page. */
  readonly pageBars: number
  /** Bars of each timeframe that it keeps; infinite where there is no bound. */
  readonly keptBars: number
  #opening: Promise<OpenVenue> | undefined
  #opened: OpenVenue | undefined
  /** Counts of unusable data that it sent. */
  readonly faults: VenueFaults
  /** Its present and former listings. */
  readonly listings: VenueListings
  readonly #report: (message: string) => void
  readonly #intervals: StatedIntervals
  readonly #everListed = new Map<string, CcxtMarket>()
  readonly #toldUnits = new Set<string>()
  /** Contracts of the newest list that are not of coins, by their names. */
  #others: ReadonlyMap<string, OtherAsset> = new Map()
  #newestVenueTime = Number.NEGATIVE_INFINITY
  #marketsAt = Number.NEGATIVE_INFINITY
  #fetchingMarkets: Promise<void> | undefined
  #behindMs = 0
  constructor(options: VenueOptions) {
    this.#options = options
    this.exchange = this.#options.exchange
    this.#definition = VENUES[this.exchange]
    this.pageBars = VENUES[this.exchange].pageBars
    this.keptBars = VENUES[this.exchange].keptBars ?? Number.POSITIVE_INFINITY
    this.faults = createVenueFaults(this.exchange, this.#options.now, (message) => this.#report(message))
    this.listings = createVenueListings(this.#options.now)
    this.#report = this.#options.report ?? ((): void => undefined)
    this.#intervals = createStatedIntervals({
      stating: this.#definition.statedIntervals,
      ask: this.#ask,
      now: this.#options.now,
      report: this.#report,
    })
  }

  readonly #takeVenueTime = (time: number): void => {
    const behind = this.#options.now() - time
    this.#behindMs = behind > CLOCK_GRACE_MS ? behind : 0
    // Its bars close by its clock, so nothing is taken until that is where it was.
    if (this.#newestVenueTime - time > CLOCK_BACK_MS)
      this.faults.note('clock', undefined, `its clock went back to ${new Date(time).toISOString()}`)
    this.#newestVenueTime = time
  }

  readonly #openOnce = async (): Promise<OpenVenue> => {
    this.#opening ??= openVenue(this.#options, this.#definition, this.#takeVenueTime)
    this.#opened = await this.#opening
    return this.#opened
  }

  readonly #ask = async <Answer>(
    request: (client: CcxtClient) => Promise<Answer>,
    signal: AbortSignal,
    extraWeight = 0,
  ): Promise<Answer> => {
    const { client, access, take } = await this.#openOnce()
    return access.ask(async () => {
      if (extraWeight > 0) await take(extraWeight)
      return request(client)
    }, signal)
  }

  async #fetchMarkets(signal: AbortSignal): Promise<void> {
    const method = this.#definition.marketsMethod ?? 'fetchMarkets'
    const all = await this.#ask((client) => client[method]({}), signal)
    const groups = await this.#ask(async (client) => groupNames(client, this.#definition), signal)
    const others = new Map<string, OtherAsset>()
    const usable = all.filter((market) => {
      if (!isPerpetual(market, this.#definition)) return false
      const other = otherAssetOf(this.exchange, market.info ?? {}, groups)
      if (other !== undefined) for (const name of namesOfOther(market.base)) others.set(name, other)
      return other === undefined
    })
    this.#others = others
    if (!usable.some(isTraded)) {
      throw new VenueFailure(
        'refused',
        `${this.exchange} lists ${all.length} markets, none a traded perpetual contract of a coin in ${this.#definition.quote}`,
      )
    }
    const { client } = await this.#openOnce()
    // A list may lack a traded market by mistake: bars of every market that was ever listed are asked for.
    for (const market of all) this.#everListed.set(market.symbol, market)
    adoptMarkets(client, [...this.#everListed.values()])
    this.listings.takeList(
      usable.map((market) => ({
        coin: market.base,
        symbol: market.symbol,
        contractSize: market.contractSize ?? 1,
        fundingHours: positive(this.#definition.listedFundingHours?.(market.info ?? {})),
        isTraded: isTraded(market),
      })),
    )
    this.#marketsAt = this.#options.now()
  }

  /** The kind of asset of a contract that the venue lists beside its coins. */
  readonly otherAsset = (coin: string): OtherAsset | undefined =>
    this.listings.traded().has(coin) ? undefined : this.#others.get(coin)

  /** The markets that are traded, from a list not older than `maxAgeMs`. */
  readonly markets = async (
    maxAgeMs: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Coin, VenueMarket>> => {
    if (this.#options.now() - this.#marketsAt > maxAgeMs || this.#marketsAt > this.#options.now()) {
      this.#fetchingMarkets ??= this.#fetchMarkets(signal).finally(() => {
        this.#fetchingMarkets = undefined
      })
      await this.#fetchingMarkets
    }
    return this.listings.traded()
  }

  async #marketOf(market: Market, signal: AbortSignal): Promise<VenueMarket> {
    if (this.listings.traded().size === 0) await this.markets(LIMITS.venueMarketsMs, signal)
    const found = this.listings.find(market.coin)
    if (found === undefined) throw new VenueFailure('unknown_symbol', `${marketName(market)} is not listed`)
    return found
  }

  /** The closed bars that open from `since` on, a page of them at most, in order. */
  readonly bars = async (
    series: Series,
    since: number,
    count: number,
    signal: AbortSignal,
  ): Promise<readonly Candle[]> => {
    const { symbol, contractSize } = await this.#marketOf(series, signal)
    const limit = Math.min(count, this.pageBars)
    const extra = this.#definition.extraBarWeight?.(limit) ?? 0
    const answer = await this.#ask(
      (client) => askBars(client, symbol, series.timeframe, since, limit, this.#definition),
      signal,
      extra,
    )
    // Of a bar that is not finished there is no row; it is missing, and asked for again.
    const rows = answer.filter(({ length }) => length > 0)
    const inCoins = this.#definition.volumeIn === 'coins' ? 1 : contractSize
    const raw = rows.map(([openTime, open, high, low, close, volume]) => ({
      openTime: this.#converted(openTime ?? Number.NaN, series),
      open: open ?? Number.NaN,
      high: high ?? Number.NaN,
      low: low ?? Number.NaN,
      close: close ?? Number.NaN,
      volume: toCoins(volume ?? Number.NaN, inCoins),
    }))
    const now = this.#options.now() - this.#behindMs
    const asked = raw.filter(({ openTime }) => !(openTime < since) || instantFault(openTime, now))
    const closed = closedBars(asked, {
      series,
      now,
      onFault: (fault, times) => this.faults.note('row', series, fault, times),
    })
    const newest = closed.at(-1)
    if (newest !== undefined)
      this.listings.takeBar(series.coin, newest.openTime + timeframeMs(series.timeframe))
    return closed
  }

  /** A time in milliseconds, from any unit of the venue; unchanged if it cannot be one of the past. */
  #converted(time: number, market: Market): number {
    const read = toMilliseconds(time)
    if (read === undefined || read.unit === 'ms' || instantFault(read.ms, this.#options.now())) return time
    const message = `times come in ${UNITS[read.unit]}, such as ${time}, and are converted`
    if (!this.#toldUnits.has(read.unit)) this.#report(`${marketName(market)}: ${message}`)
    this.#toldUnits.add(read.unit)
    return read.ms
  }

  /** Settlements from an instant on; fewer where the venue does not keep them so long. */
  readonly funding = async (
    market: Market,
    since: number,
    signal: AbortSignal,
  ): Promise<readonly RawFunding[]> => {
    const { symbol } = await this.#marketOf(market, signal)
    await this.#intervals.refresh(symbol, signal)
    const now = this.#options.now()
    return fetchFunding(this.#definition, since, now, async (from, params) => {
      const rows = await this.#ask(
        (client) => client.fetchFundingRateHistory(symbol, from, this.#definition.fundingRows, params),
        signal,
      )
      return rows.map((row) => {
        const timestamp = this.#converted(row.timestamp ?? Number.NaN, market)
        const fault = instantFault(timestamp, now)
        if (fault === undefined) return { ...row, timestamp }
        this.faults.note('row', undefined, `a settlement of ${marketName(market)} is not used: ${fault}`)
        return { info: row.info }
      })
    })
  }

  /** Hours between settlements at present, where the venue says them; read anew by {@link Venue.funding}. */
  readonly fundingHours = (coin: Coin): number | undefined => {
    const listed = this.listings.find(coin)
    return listed && (listed.fundingHours ?? this.#intervals.hoursOf(listed.symbol))
  }

  readonly turnovers = async (signal: AbortSignal): Promise<readonly VenueTurnover[]> => {
    const listed = await this.markets(LIMITS.venueMarketsMs, signal)
    const tickers = await this.#ask((client) => client.fetchTickers(), signal)
    return [...listed.values()].flatMap(({ coin, symbol }) => {
      const ticker = tickers[symbol]
      if (ticker === undefined) return []
      return {
        coin,
        quoteVolume24h: (this.#definition.quoteVolume ?? plainQuoteVolume)(ticker),
        change24h: (ticker.percentage ?? Number.NaN) / 100,
      }
    })
  }

  /** Null until the venue was first asked. */
  readonly access = (): VenueAccess | undefined => this.#opened?.access

  /** How far the venue's clock is behind ours, milliseconds, never negative: its bars close by its clock. */
  readonly clockBehindMs = (): number => this.#behindMs
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

/** Counts what a venue sent that could not be used, and tells the operator of it now and then. */
type VenueFaults = ReturnType<typeof createVenueFaults>

/** The same fault of the same series is reported again after this time. */
const QUIET_MS = HOUR_MS

function createVenueFaults(exchange: Exchange, now: () => number, report: (message: string) => void) {
  const counts: Record<VenueFault, number> = { row: 0, leap: 0, restated: 0, clock: 0 }
  const toldAt = new Map<string, number>()
  return {
    /** @param times how often it occurred at once */
    note(fault: VenueFault, series: Series | undefined, message: string, times: number = 1): void {
      counts[fault] += times
      const subject = series === undefined ? exchange : seriesName(series)
      const name = `${fault} ${subject}`
      const before = toldAt.get(name)
      if (before !== undefined && now() - before < QUIET_MS && before <= now()) return
      toldAt.set(name, now())
      report(`${subject}: ${message}`)
    },
    counts: (): Readonly<Record<VenueFault, number>> => ({ ...counts }),
  }
}
