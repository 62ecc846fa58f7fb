import type { Coin } from '../../../../../contracts/domain/series.ts'
import { type Timeframe, timeframeMs } from '../../../../../contracts/domain/timeframes.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachCoin, eachTicker, type VenueShape } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}USDT`

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

const interval = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  adjustedFundingRateCap: '0.03000000',
  adjustedFundingRateFloor: '-0.03000000',
  fundingIntervalHours: fake.fundingHours(coin),
  disclaimer: false,
})

const ticker = ({ coin, last, open, high, low, volume, turnover }: FakeTicker, fake: FakeMarket) => ({
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
})

/** Binance's answers, with contracts that are not perpetual among the others; those of Aster are the same under other addresses. */
export const binanceShape = (base: string, others: readonly unknown[] = []) =>
  ({
    symbolOf,
    timeframeIn: 'interval',
    unknown: { status: 400, body: { code: -1121, msg: 'Invalid symbol.' } },
    routes: {
      markets: {
        [`${base}/exchangeInfo`]: ({ fake }) => ({
          timezone: 'UTC',
          symbols: [...fake.coins().map(market), ...others],
        }),
      },
      candles: {
        [`${base}/klines`]({ query, limit, span, bars }) {
          const range = span('startTime')
          const keep = range.from === undefined ? 'last' : 'first'
          const rows = bars({ ...range, limit: limit('limit', 500), keep })
          return rows.map(({ openTime, open, high, low, close, volume }) => [
            openTime,
            ...[open, high, low, close, volume].map(String),
            openTime + timeframeMs(query['interval'] as Timeframe) - 1,
            String(volume * close),
            308,
            String(volume / 2),
            String((volume / 2) * close),
            '0',
          ])
        },
      },
      funding: {
        [`${base}/fundingRate`]({ coin, query, fake, limit, number }) {
          const rates = fake.funding(coin, number('startTime') ?? 0, fake.now())
          return rates.slice(0, limit('limit', 100)).map(({ time, rate }) => ({
            symbol: query['symbol'],
            fundingTime: time + 3,
            fundingRate: String(rate),
            markPrice: '34287.54619963',
          }))
        },
      },
      intervals: { [`${base}/fundingInfo`]: eachCoin(interval) },
      tickers: { [`${base}/ticker/24hr`]: eachTicker(ticker) },
    },
  }) satisfies VenueShape

/** Made by hand from the venue's documentation; candles and contracts as in recorded answers. */
export const binanceFormat = createVenueFormat(binanceShape('/fapi/v1', [quarterly]))
