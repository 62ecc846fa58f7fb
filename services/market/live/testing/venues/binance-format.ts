import type { Coin } from '../../../../../contracts/series.ts'
import { type Timeframe, timeframeMs } from '../../../../../contracts/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import {
  BY_HAND,
  coinNamed,
  type FakeAnswer,
  type FakeRequest,
  numberOf,
  type VenueFormat,
} from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}USDT`
const unknown = { route: 'candles', status: 400, body: { code: -1121, msg: 'Invalid symbol.' } } as const

const market = (coin: Coin) => ({
  symbol: symbolOf(coin),
  pair: symbolOf(coin),
  contractType: 'PERPETUAL',
  deliveryDate: 4_133_404_800_000,
  onboardDate: 1_569_398_400_000,
  status: 'TRADING',
  baseAsset: coin,
  quoteAsset: 'USDT',
  marginAsset: 'USDT',
  pricePrecision: 2,
  quantityPrecision: 3,
  baseAssetPrecision: 8,
  quotePrecision: 8,
  filters: [
    { filterType: 'PRICE_FILTER', minPrice: '0.10', maxPrice: '4529764', tickSize: '0.10' },
    { filterType: 'LOT_SIZE', minQty: '0.001', maxQty: '1000', stepSize: '0.001' },
  ],
})

/** A quarterly contract, which is not to be listed. */
const quarterly = {
  ...market('BTC'),
  symbol: 'BTCUSDT_260327',
  contractType: 'CURRENT_QUARTER',
  deliveryDate: 1_774_598_400_000,
}

function candles({ query }: FakeRequest, fake: FakeMarket): FakeAnswer {
  const coin = coinNamed(fake, symbolOf, query['symbol'])
  if (coin === undefined) return unknown
  const timeframe = query['interval'] as Timeframe
  const from = numberOf(query['startTime'])
  const limit = numberOf(query['limit']) ?? 500
  const range = { limit, keep: from === undefined ? 'last' : 'first' } as const
  const rows = fake.candles(coin, timeframe, { ...range, ...(from !== undefined && { from }) })
  const body = rows.map(({ openTime, open, high, low, close, volume }) => [
    openTime,
    String(open),
    String(high),
    String(low),
    String(close),
    String(volume),
    openTime + timeframeMs(timeframe) - 1,
    String(volume * close),
    308,
    String(volume / 2),
    String((volume / 2) * close),
    '0',
  ])
  return { route: 'candles', body }
}

function funding({ query }: FakeRequest, fake: FakeMarket): FakeAnswer {
  const coin = coinNamed(fake, symbolOf, query['symbol'])
  if (coin === undefined) return unknown
  const rates = fake.funding(coin, Number(query['startTime'] ?? 0), fake.now())
  const rows = rates.slice(0, Number(query['limit'] ?? 100))
  const body = rows.map(({ time, rate }) => ({
    symbol: query['symbol'],
    fundingTime: time + 3,
    fundingRate: String(rate),
    markPrice: '34287.54619963',
  }))
  return { route: 'funding', body }
}

const interval = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  adjustedFundingRateCap: '0.03000000',
  adjustedFundingRateFloor: '-0.03000000',
  fundingIntervalHours: fake.fundingHours(coin),
  disclaimer: false,
})

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume, turnover } = fake.ticker(coin)
    return {
      symbol: symbolOf(coin),
      priceChange: String(last - open),
      priceChangePercent: String((100 * (last - open)) / open),
      weightedAvgPrice: String(turnover / volume),
      lastPrice: String(last),
      lastQty: '0.004',
      openPrice: String(open),
      highPrice: String(high),
      lowPrice: String(low),
      volume: String(volume),
      quoteVolume: String(turnover),
      openTime: fake.now() - 86_400_000,
      closeTime: fake.now(),
    }
  })

/** Binance's answers, with contracts that are not perpetual among the others; those of Aster are the same under other addresses. */
export const binanceAnswer = (
  request: FakeRequest,
  fake: FakeMarket,
  base: string,
  others: readonly unknown[] = [],
): FakeAnswer | undefined => {
  switch (request.path) {
    case `${base}/exchangeInfo`:
      return {
        route: 'markets',
        body: { timezone: 'UTC', symbols: [...fake.coins().map(market), ...others] },
      }
    case `${base}/klines`:
      return candles(request, fake)
    case `${base}/fundingRate`:
      return funding(request, fake)
    case `${base}/fundingInfo`:
      return { route: 'intervals', body: fake.coins().map((coin) => interval(coin, fake)) }
    case `${base}/ticker/24hr`:
      return { route: 'tickers', body: tickers(fake) }
    default:
      return undefined
  }
}

export const binanceFormat: VenueFormat = {
  exchange: 'BINANCE',
  source: `${BY_HAND}; candles and contracts as in recorded answers`,
  answer: (request, fake) => binanceAnswer(request, fake, '/fapi/v1', [quarterly]),
}
