import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachCoin, eachTicker } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}-USDT`

const market = (coin: Coin) => ({
  contractId: '100',
  symbol: symbolOf(coin),
  size: '0.0001',
  quantityPrecision: 4,
  pricePrecision: 1,
  feeRate: 0.0005,
  makerFeeRate: 0.0002,
  takerFeeRate: 0.0005,
  tradeMinQuantity: 0.0001,
  tradeMinUSDT: 2,
  currency: 'USDT',
  asset: coin,
  status: 1,
  apiStateOpen: 'true',
  apiStateClose: 'true',
})

const present = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  markPrice: String(fake.ticker(coin).last),
  indexPrice: String(fake.ticker(coin).last),
  lastFundingRate: '0.00010000',
  nextFundingTime: fake.nextFunding(coin),
  fundingIntervalHours: fake.fundingHours(coin),
})

const ticker = ({ coin, last, open, high, low, volume, turnover }: FakeTicker, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  priceChange: String(last - open),
  priceChangePercent: `${(100 * (last - open)) / open}%`,
  lastPrice: String(last),
  lastQty: '2.2238',
  highPrice: String(high),
  lowPrice: String(low),
  volume: String(volume),
  quoteVolume: String(turnover),
  openPrice: String(open),
  openTime: fake.now() - 86_400_000,
  closeTime: fake.now(),
  bidPrice: last,
  bidQty: 0.05,
  askPrice: last,
  askQty: 0.05,
})

/** Made by hand from the venue's documentation. */
export const bingxFormat = createVenueFormat({
  symbolOf,
  timeframeIn: 'interval',
  unknown: { body: { code: 109_425, msg: 'symbol not exist', data: {} } },
  wrap: (data) => ({ code: 0, msg: '', data }),
  routes: {
    markets: { '/openApi/swap/v2/quote/contracts': eachCoin(market) },
    candles: {
      '/openApi/swap/v3/quote/klines'({ limit, span, bars }) {
        const rows = bars({ limit: limit('limit', 500, 1_440), ...span('startTime', 'endTime') })
        // Newest first.
        return rows.toReversed().map(({ openTime, open, high, low, close, volume }) => ({
          open: String(open),
          close: String(close),
          high: String(high),
          low: String(low),
          volume: String(volume),
          time: openTime,
        }))
      },
    },
    funding: {
      '/openApi/swap/v2/quote/fundingRate': ({ query, limit, span, rates }) =>
        rates(limit('limit', 100), span('startTime', 'endTime')).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: String(rate),
          fundingTime: time,
        })),
    },
    intervals: { '/openApi/swap/v2/quote/premiumIndex': eachCoin(present) },
    tickers: { '/openApi/swap/v2/quote/ticker': eachTicker(ticker) },
  },
})
