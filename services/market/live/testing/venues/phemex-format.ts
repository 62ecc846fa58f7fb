import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachTicker, timeframesInUnits } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}USDT`
const fundingSymbolOf = (coin: Coin): string => `.${coin}USDTFR8H`

const wrap = (data: unknown) => ({ code: 0, msg: 'OK', data })

const market = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  code: 41_541,
  type: 'PerpetualV2',
  displaySymbol: `${coin} / USDT`,
  indexSymbol: `.${coin}USDT`,
  markSymbol: `.M${coin}USDT`,
  fundingRateSymbol: `.${coin}USDTFR`,
  fundingRate8hSymbol: fundingSymbolOf(coin),
  contractUnderlyingAssets: coin,
  settleCurrency: 'USDT',
  quoteCurrency: 'USDT',
  tickSize: '0.1',
  priceScale: 0,
  ratioScale: 0,
  pricePrecision: 1,
  baseCurrency: coin,
  status: 'Listed',
  listTime: 1_668_225_600_000,
  fundingInterval: fake.fundingHours(coin) * 3_600,
  maxLeverage: 100,
  maxOrderQtyRq: '1000',
  qtyPrecision: 3,
  qtyStepSize: '0.001',
})

const ticker = (
  { coin, last, open, high, low, volume, turnover, openInterest }: FakeTicker,
  fake: FakeMarket,
) => ({
  closeRp: String(last),
  fundingRateRr: '0.0001',
  highRp: String(high),
  indexPriceRp: String(last),
  lowRp: String(low),
  markPriceRp: String(last),
  openInterestRv: String(openInterest),
  openRp: String(open),
  predFundingRateRr: '0.0001',
  symbol: symbolOf(coin),
  timestamp: fake.now() * 1_000_000,
  turnoverRv: String(turnover),
  volumeRq: String(volume),
})

/** Made by hand from the venue's documentation. */
export const phemexFormat = createVenueFormat({
  symbolOf,
  fundingSymbolOf,
  timeframeIn: 'resolution',
  timeframes: timeframesInUnits(1_000),
  unknown: { body: { code: 6_001, msg: 'invalid argument', data: null } },
  routes: {
    markets: {
      '/public/products': ({ fake }) =>
        wrap({
          currencies: [],
          products: [],
          perpProductsV2: fake.coins().map((coin) => market(coin, fake)),
          riskLimits: [],
        }),
      '/v1/exchange/public/products': () => wrap([]),
    },
    candles: {
      '/exchange/public/md/v2/kline/list'({ query, limit, span, bars }) {
        const found = bars({ limit: limit('limit', 1_000, 2_000), ...span('from', 'to', 1_000) })
        const rows = found.map(({ openTime, open, high, low, close, volume }) => [
          openTime / 1_000,
          Number(query['resolution']),
          ...[open, open, high, low, close, volume, volume * close].map(String),
          query['symbol'],
        ])
        return wrap({ total: -1, rows })
      },
    },
    funding: {
      '/api-data/public/data/funding-rate-history'({ query, limit, span, rates }) {
        const found = rates(limit('limit', 100, 100), span('start', 'end'))
        const rows = found.map(({ time, rate, intervalHours }) => ({
          symbol: query['symbol'],
          fundingRate: String(rate),
          fundingTime: time,
          intervalSeconds: intervalHours * 3_600,
        }))
        return wrap({ rows })
      },
    },
    tickers: {
      '/md/v2/ticker/24hr/all': (asked) => ({ error: null, id: 0, result: eachTicker(ticker)(asked) }),
    },
  },
})
