import type { Clock } from '../../runtime/async/clock.ts'
import { VenueFailure } from './venue-failure.ts'
import type { VenueRequest, VenueTransport } from './venue-transport.ts'
import type { CcxtTicker, VenueDefinition, VenueRow } from './venues.ts'

/** A market as ccxt describes it, as far as it is used. */
export interface CcxtMarket {
  readonly symbol: string
  readonly base: string
  readonly quote: string
  readonly settle?: string
  readonly swap: boolean
  readonly linear?: boolean
  readonly active?: boolean
  readonly contractSize?: number
  /** The venue's own answer. */
  readonly info?: Readonly<Record<string, unknown>>
}

/** One settlement as ccxt gives it. */
export interface CcxtFundingRow {
  readonly timestamp?: number
  readonly fundingRate?: number
  readonly info: Readonly<Record<string, unknown>>
}

/** The funding of a contract at present. */
export interface CcxtFundingRate {
  /** The venue's own answer. */
  readonly info: Readonly<Record<string, unknown>>
}

type Params = Readonly<Record<string, unknown>>

/** The part of a ccxt exchange that is used, and the places where ours is put in its stead. */
export interface CcxtClient {
  readonly rateLimit: number
  markets: Readonly<Record<string, CcxtMarket>> | undefined
  marketsLoading: Promise<unknown> | undefined
  fetchImplementation: VenueTransport
  throttle: (cost?: number) => Promise<void>
  milliseconds: () => number
  seconds: () => number
  parseJson: (text: string) => unknown
  filterBySinceLimit: (rows: unknown) => unknown
  filterByValueSinceLimit: (rows: unknown) => unknown
  parseOHLCV: (row: VenueRow, market?: unknown) => readonly (number | undefined)[]
  /** Any request, also one that ccxt has no method for. */
  request(path: string, api: readonly string[], method: 'GET', params: Params): Promise<Params>
  setMarkets(markets: readonly CcxtMarket[]): void
  fetchMarkets(): Promise<readonly CcxtMarket[]>
  fetchSwapMarkets(params: Params): Promise<readonly CcxtMarket[]>
  fetchSwapAndFutureMarkets(params: Params): Promise<readonly CcxtMarket[]>
  fetchOHLCV(
    symbol: string,
    timeframe: string,
    since: number,
    limit: number | undefined,
    params: Params,
  ): Promise<readonly (readonly (number | undefined)[])[]>
  fetchTickers(): Promise<Readonly<Record<string, CcxtTicker>>>
  fetchFundingIntervals(): Promise<Readonly<Record<string, CcxtFundingRate>>>
  fetchFundingRates(): Promise<Readonly<Record<string, CcxtFundingRate>>>
  fetchFundingRate(symbol: string): Promise<CcxtFundingRate>
  fetchFundingRateHistory(
    symbol: string,
    since: number | undefined,
    limit: number,
    params: Params,
  ): Promise<readonly CcxtFundingRow[]>
}

type Constructor<Instance> = new (options?: Params) => Instance
type CcxtModule = Readonly<Record<string, Constructor<CcxtClient>>>
type ErrorClass = Constructor<Error>

/** ccxt, once it is loaded. */
export interface Ccxt {
  client(id: string, options: Params): CcxtClient
  /** Errors that pass: network, limits, maintenance. */
  readonly Passing: ErrorClass
  /** The venue does not know the market. */
  readonly UnknownSymbol: ErrorClass
}

let loading: Promise<Ccxt> | undefined

/** Loads ccxt when it is first used: it takes half a second and 150 MB. */
export function loadCcxt(): Promise<Ccxt> {
  loading ??= import('ccxt').then((module) => {
    const classes = module.default as unknown as CcxtModule
    const errors = module as unknown as Readonly<Record<string, ErrorClass>>
    return {
      client(id, options) {
        const Client = classes[id]
        if (Client === undefined) throw new RangeError(`ccxt has no exchange ${id}`)
        return new Client(options)
      },
      Passing: errors['OperationFailed'] as ErrorClass,
      UnknownSymbol: errors['BadSymbol'] as ErrorClass,
    }
  })
  return loading
}

export interface CcxtClientOptions extends Pick<Clock, 'now'> {
  readonly definition: VenueDefinition
  readonly transport: VenueTransport
  /** Waits until a request of this weight may be sent. */
  readonly throttle: (weight: number) => Promise<void>
}

/** Characters of an answer that go into a message. */
const SHOWN = 160

/** A client of one venue that sends through our transport, at our rate and by our clock. */
export function openCcxtClient(ccxt: Ccxt, options: CcxtClientOptions): CcxtClient {
  const { definition, transport, throttle, now } = options
  const client = ccxt.client(definition.ccxtId, {
    enableRateLimit: true,
    options: { defaultType: 'swap', defaultSubType: 'linear', ...definition.options },
  })
  client.fetchImplementation = (url: string, request: VenueRequest) => transport(url, request)
  client.throttle = (cost = 1) => throttle(cost)
  client.milliseconds = now
  client.seconds = () => Math.floor(now() / 1_000)
  // ccxt would drop rows in another unit as too old, without a word. The caller drops rows that are too old.
  client.filterBySinceLimit = (rows) => rows
  client.filterByValueSinceLimit = (rows) => rows
  const { isUnfinished } = definition
  if (isUnfinished !== undefined) {
    // ccxt reads six numbers of a candle and drops the rest.
    const parseCandle = client.parseOHLCV.bind(client)
    client.parseOHLCV = (row, market) => (isUnfinished(row) ? [] : parseCandle(row, market))
  }
  const parseJson = client.parseJson.bind(client)
  client.parseJson = (text) => {
    const value = parseJson(text)
    // ccxt takes an answer that is not JSON for an empty one, and a broken page would pass for a gap.
    if (value === undefined && text !== '') {
      throw new VenueFailure('passing', `an answer is not JSON: ${text.slice(0, SHOWN)}`)
    }
    return value
  }
  return client
}

/**
 * Makes markets known to a client. ccxt's own `loadMarkets` keeps a failed attempt for good: one failed refresh
 * would end every later request of a venue that is well.
 */
export function adoptMarkets(client: CcxtClient, markets: readonly CcxtMarket[]): void {
  client.setMarkets(markets)
  client.marketsLoading = Promise.resolve(client.markets)
}
