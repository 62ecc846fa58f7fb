import type { Exchange } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { toMilliseconds } from '../instant-unit.ts'

/** A ticker as ccxt gives it, as far as it is used. `info` is what the venue sent. */
export interface CcxtTicker {
  readonly symbol: string
  readonly last?: number
  readonly close?: number
  readonly markPrice?: number
  readonly percentage?: number
  readonly baseVolume?: number
  readonly quoteVolume?: number
  readonly info: Readonly<Record<string, unknown>>
}

/** A candle as a venue sends it: cells by place or by name. */
export type VenueRow = Readonly<Record<string | number, unknown>>

/** Facts about a venue that ccxt does not know. */
export interface VenueDefinition {
  /** Name of its class in ccxt. */
  readonly ccxtId: string
  /** Currency its perpetual contracts are quoted and settled in. */
  readonly quote: 'USDT' | 'USDC'
  /** Options for ccxt, so that it asks for perpetual contracts only. */
  readonly options?: Readonly<Record<string, unknown>>
  /** The method of ccxt that fetches the linear contracts and little else. */
  readonly marketsMethod?: 'fetchMarkets' | 'fetchSwapMarkets' | 'fetchSwapAndFutureMarkets'
  /** The request that names the groups whose numbers its list of contracts has. */
  readonly groups?: { readonly path: string; readonly api: readonly string[] }
  /** Bars in one answer, at most. */
  readonly pageBars: number
  /** Bars of each timeframe that it keeps, where they are fewer than a start may ask for. */
  readonly keptBars?: number
  /** Whether a limit makes the venue ignore the times, so that none may be asked for. */
  readonly ignoresTimes?: true
  /** Whether the end of the range must be asked for, because the venue counts back from it. */
  readonly asksUntil?: true
  /** Unit of the volumes of bars. */
  readonly volumeIn: 'coins' | 'contracts'
  /** Milliseconds of one unit of weight, where ccxt's own figure does not fit what the venue documents. */
  readonly msPerUnit?: number
  /** Weight of a request for bars beyond what ccxt counts. */
  readonly extraBarWeight?: (bars: number) => number
  /** Settlements in one answer, at most. */
  readonly fundingRows: number
  /** Parameters of the next older page, where the venue sends the newest settlements first. */
  readonly olderFunding?: (
    page: number,
    oldest: number,
    info: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>
  /** Hours between settlements as a row says them; absent where they must be read off the times. */
  readonly fundingHours?: (row: Readonly<Record<string, unknown>>) => number
  /** Hours between settlements of a contract at present as the list of contracts says them, where it does. */
  readonly listedFundingHours?: (contract: Readonly<Record<string, unknown>>) => number
  /** A request by which it states those hours instead: of all contracts, or of one where its name is of one. */
  readonly statedIntervals?: {
    readonly method: 'fetchFundingIntervals' | 'fetchFundingRates' | 'fetchFundingRate'
    /** NaN where a row does not say them. */
    readonly hoursOf: (row: Readonly<Record<string, unknown>>) => number
  }
  /** Traded in 24 hours, in the quote currency. */
  readonly quoteVolume?: (ticker: CcxtTicker) => number
  /** Whether a row of bars says that its bar is not finished, where rows say so. */
  readonly isUnfinished?: (row: VenueRow) => boolean
}

/** Exchanges with a live feed: all but the simulated one. */
export type LiveExchange = Exclude<Exchange, 'SIM'>

const read = (ticker: CcxtTicker, field: string): number => Number(ticker.info[field] ?? Number.NaN)
const priceOf = ({ markPrice, last, close }: CcxtTicker): number => markPrice ?? last ?? close ?? Number.NaN
const times =
  (field: string) =>
  (ticker: CcxtTicker): number =>
    read(ticker, field) * priceOf(ticker)
const linear = { fetchMarkets: { types: ['linear'] } }
const swap = { fetchMarkets: { types: ['swap'] } }

const hoursBetween =
  (from: string, to: string) =>
  (row: Readonly<Record<string, unknown>>): number =>
    (msOf(row[to]) - msOf(row[from])) / HOUR_MS

const msOf = (time: unknown): number => toMilliseconds(Number(time))?.ms ?? Number.NaN

/** Settlements before an instant; ccxt has a name of its own for that. */
const until = (_page: number, oldest: number) => ({ until: oldest - 1 })

const hoursField = (row: Readonly<Record<string, unknown>>): number => Number(row['fundingIntervalHours'])

/** The fourteen venues. Limits are those of the venues' documentation where ccxt does not know better. */
export const VENUES: Readonly<Record<LiveExchange, VenueDefinition>> = {
  BINANCE: {
    ccxtId: 'binanceusdm',
    quote: 'USDT',
    options: linear,
    pageBars: 1_000,
    volumeIn: 'coins',
    fundingRows: 1_000,
    // Only of contracts that were given another interval than the usual one.
    statedIntervals: { method: 'fetchFundingIntervals', hoursOf: hoursField },
  },
  BYBIT: {
    ccxtId: 'bybit',
    quote: 'USDT',
    options: linear,
    pageBars: 1_000,
    volumeIn: 'coins',
    fundingRows: 200,
    olderFunding: until,
    listedFundingHours: (contract) => Number(contract['fundingInterval']) / 60,
  },
  OKX: {
    ccxtId: 'okx',
    quote: 'USDT',
    options: swap,
    pageBars: 300,
    volumeIn: 'coins',
    isUnfinished: (row) => row[8] === '0',
    fundingRows: 100,
    olderFunding: (_page, oldest) => ({ after: oldest }),
    statedIntervals: {
      method: 'fetchFundingRates',
      hoursOf: hoursBetween('fundingTime', 'nextFundingTime'),
    },
    quoteVolume: times('volCcy24h'),
  },
  BITGET: {
    ccxtId: 'bitget',
    quote: 'USDT',
    options: swap,
    pageBars: 200,
    volumeIn: 'coins',
    fundingRows: 100,
    listedFundingHours: (contract) => Number(contract['fundInterval']),
    olderFunding: (page) => ({ pageNo: page }),
  },
  HL: {
    ccxtId: 'hyperliquid',
    quote: 'USDC',
    options: swap,
    pageBars: 5_000,
    keptBars: 5_000,
    asksUntil: true,
    volumeIn: 'coins',
    // 20 for the request, of which ccxt counts 4, and 1 for every 60 bars of the answer; 1,200 a minute.
    extraBarWeight: (bars) => 16 + bars / 60,
    fundingRows: 500,
    listedFundingHours: () => 1,
  },
  GATE: {
    ccxtId: 'gate',
    quote: 'USDT',
    options: { ...swap, swap: { fetchMarkets: { settlementCurrencies: ['usdt'] } } },
    pageBars: 1_000,
    volumeIn: 'contracts',
    fundingRows: 1_000,
    listedFundingHours: (contract) => Number(contract['funding_interval']) / 3_600,
  },
  KUCOIN: {
    ccxtId: 'kucoinfutures',
    quote: 'USDT',
    pageBars: 200,
    volumeIn: 'contracts',
    fundingRows: 100,
    listedFundingHours: (contract) => Number(contract['fundingRateGranularity']) / 3_600_000,
  },
  MEXC: {
    ccxtId: 'mexc',
    quote: 'USDT',
    marketsMethod: 'fetchSwapMarkets',
    pageBars: 1_000,
    asksUntil: true,
    volumeIn: 'contracts',
    fundingRows: 1_000,
    fundingHours: (row) => Number(row['collectCycle']),
    olderFunding: (page) => ({ page_num: page }),
  },
  BINGX: {
    ccxtId: 'bingx',
    quote: 'USDT',
    marketsMethod: 'fetchSwapMarkets',
    pageBars: 1_000,
    asksUntil: true,
    volumeIn: 'coins',
    fundingRows: 1_000,
    statedIntervals: { method: 'fetchFundingRates', hoursOf: hoursField },
  },
  HTX: {
    ccxtId: 'htx',
    quote: 'USDT',
    options: { fetchMarkets: { types: { spot: false, linear: true, inverse: false } } },
    pageBars: 2_000,
    ignoresTimes: true,
    volumeIn: 'coins',
    fundingRows: 100,
    olderFunding: (_page, oldest) => ({ end_time: oldest - 1 }),
    statedIntervals: {
      method: 'fetchFundingRate',
      hoursOf: hoursBetween('funding_time', 'next_funding_time'),
    },
    quoteVolume: (ticker) => read(ticker, 'trade_turnover'),
  },
  PHEMEX: {
    ccxtId: 'phemex',
    quote: 'USDT',
    pageBars: 1_000,
    asksUntil: true,
    volumeIn: 'coins',
    fundingRows: 100,
    olderFunding: until,
    fundingHours: (row) => Number(row['intervalSeconds']) / 3_600,
    quoteVolume: (ticker) => read(ticker, 'turnoverRv'),
  },
  ASTER: {
    ccxtId: 'aster',
    quote: 'USDT',
    pageBars: 1_000,
    volumeIn: 'coins',
    // 2,400 a minute, of which a page of 1,000 bars weighs 5: ccxt counts 1 at thirteen times the time.
    msPerUnit: 25,
    extraBarWeight: (bars) => (bars < 100 ? 0 : bars < 500 ? 1 : 4),
    fundingRows: 1_000,
    statedIntervals: { method: 'fetchFundingIntervals', hoursOf: hoursField },
  },
  WHITEBIT: {
    ccxtId: 'whitebit',
    quote: 'USDT',
    pageBars: 1_000,
    volumeIn: 'coins',
    fundingRows: 100,
    olderFunding: (_page, oldest) => ({ endDate: Math.ceil(oldest / 1_000) - 1 }),
    statedIntervals: {
      method: 'fetchFundingRates',
      hoursOf: (row) => Number(row['funding_interval_minutes']) / 60,
    },
  },
  XT: {
    ccxtId: 'xt',
    quote: 'USDT',
    marketsMethod: 'fetchSwapAndFutureMarkets',
    groups: { path: 'future/market/v1/public/plate/list', api: ['public', 'linear'] },
    pageBars: 1_000,
    asksUntil: true,
    volumeIn: 'contracts',
    fundingRows: 200,
    olderFunding: (_page, _oldest, { id }) => ({ id, direction: 'NEXT' }),
    fundingHours: (row) => Number(row['collectionInternal']) / 3_600,
  },
}

export const LIVE_EXCHANGES = Object.keys(VENUES) as readonly LiveExchange[]

export const isLiveExchange = (exchange: Exchange): exchange is LiveExchange => exchange !== 'SIM'
