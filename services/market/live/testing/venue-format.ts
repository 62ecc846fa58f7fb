import type { Candle, FundingRate } from '../../../../contracts/domain/candle.ts'
import type { Coin } from '../../../../contracts/domain/series.ts'
import { HOUR_MS, TIMEFRAMES, type Timeframe, timeframeMs } from '../../../../contracts/domain/timeframes.ts'
import type { CandleRange, FakeMarket, FakeTicker } from './fake-market.ts'

/** The content that a request asks a venue for. */
export type Route = 'markets' | 'candles' | 'tickers' | 'funding' | 'intervals'

export interface FakeRequest {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

export interface FakeAnswer {
  readonly route: Route
  readonly body: unknown
  readonly status?: number
}

/** How a venue answers. Undefined for an address that the venue does not have, as far as it is imitated. */
export type VenueFormat = (request: FakeRequest, market: FakeMarket) => FakeAnswer | undefined

/** A request of a venue, in words that all venues share. */
export interface Asked {
  readonly query: FakeRequest['query']
  readonly fake: FakeMarket
  /** The contract that is asked for, where the route is of one contract. */
  readonly coin: Coin
  readonly number: (name: string) => number | undefined
  /** How many rows are asked for: so many where it is not said, and at most so many. */
  readonly limit: (name: string, otherwise: number, most?: number) => number
  /** The ends of a range, by the names of their parameters. */
  readonly span: (from: string, to?: string, unitMs?: number) => Pick<CandleRange, 'from' | 'to'>
  readonly bars: (range: Omit<CandleRange, 'keep'> & Partial<Pick<CandleRange, 'keep'>>) => readonly Candle[]
  /** The newest settlements of a range, newest first. */
  readonly rates: (limit: number, range?: Pick<CandleRange, 'from' | 'to'>) => readonly FundingRate[]
}

export type Writer = (asked: Asked) => unknown

/** The peculiarities of a venue. */
export interface VenueShape {
  readonly symbolOf: (coin: Coin) => string
  /** The name of a contract where its funding is asked for, if that is another. */
  readonly fundingSymbolOf?: (coin: Coin) => string
  /** The parameter that names the contract. */
  readonly symbolIn?: string
  /** The parameter that names the timeframe, and the timeframes that the venue calls otherwise. */
  readonly timeframeIn: string
  readonly timeframes?: Readonly<Partial<Record<Timeframe, string>>>
  /** Its answer about a contract that it does not list. */
  readonly unknown: Omit<FakeAnswer, 'route'>
  /** Around the body of each answer that is no error. */
  readonly wrap?: (data: unknown) => unknown
  /** Routes that are of one contract: candles and funding. */
  readonly perContract?: readonly Route[]
  /** The content at an address. One that ends in a slash is followed by the contract's name. */
  readonly routes: Readonly<Partial<Record<Route, Readonly<Record<string, Writer>>>>>
}

/** A venue from what it does in its own way. */
export function createVenueFormat(shape: VenueShape): VenueFormat {
  const { symbolOf, fundingSymbolOf = symbolOf, symbolIn = 'symbol', timeframes = {} } = shape
  const { perContract = ['candles', 'funding'], wrap = (data) => data } = shape
  const addresses = Object.entries(shape.routes).flatMap(([route, writers]) =>
    Object.entries(writers).map(([address, write]) => ({ route: route as Route, address, write })),
  )
  return ({ path, query }, fake) => {
    const found = addresses.find(({ address }) =>
      address.endsWith('/') ? path.startsWith(address) : path === address,
    )
    if (found === undefined) return undefined
    const { route, address, write } = found
    const symbol = address.endsWith('/') ? path.slice(address.length) : query[symbolIn]
    const nameOf = route === 'funding' ? fundingSymbolOf : symbolOf
    const coin = fake.coins().find((one) => nameOf(one) === symbol) as Coin
    if (coin === undefined && perContract.includes(route)) return { route, ...shape.unknown }
    const number = (name: string) => (query[name] === undefined ? undefined : Number(query[name]))
    const timeframe = () =>
      TIMEFRAMES.find((one) => (timeframes[one] ?? one) === query[shape.timeframeIn]) ?? '1m'
    const asked: Asked = {
      query,
      fake,
      coin,
      number,
      limit: (name, otherwise, most = Number.POSITIVE_INFINITY) => Math.min(most, number(name) ?? otherwise),
      span(from, to = '', unitMs = 1) {
        const [first, last] = [number(from), number(to)]
        return { from: first && first * unitMs, to: last && last * unitMs }
      },
      bars: (range) => fake.candles(coin, timeframe(), { keep: 'last', ...range }),
      rates: (limit, { from = 0, to = fake.now() } = {}) =>
        fake.funding(coin, from, to).slice(-limit).toReversed(),
    }
    return { route, body: wrap(write(asked)) }
  }
}

/** Writes each listed contract. */
export const eachCoin =
  (write: (coin: Coin, fake: FakeMarket) => unknown) =>
  ({ fake }: Pick<Asked, 'fake'>): unknown[] =>
    fake.coins().map((coin) => write(coin, fake))

/** Writes the last day of each listed contract. */
export const eachTicker = (write: (ticker: FakeTicker, fake: FakeMarket) => unknown): Writer =>
  eachCoin((coin, fake) => write(fake.ticker(coin), fake))

/** The settlement after the next one. */
export const secondFunding = (coin: Coin, fake: FakeMarket): number =>
  fake.nextFunding(coin) + fake.fundingHours(coin) * HOUR_MS

/** The names of the timeframes of a venue that counts their length. */
export const timeframesInUnits = (unitMs: number): Partial<Record<Timeframe, string>> =>
  Object.fromEntries(TIMEFRAMES.map((one) => [one, String(timeframeMs(one) / unitMs)]))
