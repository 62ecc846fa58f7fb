import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachTicker } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}_PERP`

const market = (coin: Coin) => ({
  name: symbolOf(coin),
  stock: coin,
  money: 'USDT',
  stockPrec: '3',
  moneyPrec: '1',
  feePrec: '6',
  makerFee: '0.01',
  takerFee: '0.055',
  minAmount: '0.001',
  minTotal: '5.05',
  maxTotal: '10000000',
  tradesEnabled: true,
  isCollateral: true,
  type: 'futures',
})

/** Not to be listed. */
const spot = { ...market('BTC'), name: 'BTC_USDT', type: 'spot' }

const ticker = ({ coin, last, high, low, volume, turnover, openInterest }: FakeTicker, fake: FakeMarket) => ({
  ticker_id: symbolOf(coin),
  stock_currency: coin,
  money_currency: 'USDT',
  last_price: String(last),
  stock_volume: String(volume),
  money_volume: String(turnover),
  bid: String(last),
  ask: String(last),
  high: String(high),
  low: String(low),
  product_type: 'Perpetual',
  open_interest: String(openInterest),
  index_price: String(last),
  funding_rate: '-0.00000778',
  next_funding_rate_timestamp: '1772467200000',
  max_leverage: 50,
  funding_interval_minutes: fake.fundingHours(coin) * 60,
})

/** Made by hand from the venue's documentation. */
export const whitebitFormat = createVenueFormat({
  symbolOf,
  symbolIn: 'market',
  timeframeIn: 'interval',
  unknown: {
    status: 422,
    body: { success: false, message: { market: ['Market is not available.'] }, result: [] },
  },
  routes: {
    markets: { '/api/v4/public/markets': ({ fake }) => [spot, ...fake.coins().map(market)] },
    candles: {
      '/api/v1/public/kline'({ limit, span, bars }) {
        const range = span('start', '', 1_000)
        const keep = range.from === undefined ? 'last' : 'first'
        const rows = bars({ limit: limit('limit', 1_440, 1_440), keep, ...range })
        const result = rows.map(({ openTime, open, high, low, close, volume }) => [
          openTime / 1_000,
          ...[open, close, high, low, volume, volume * close].map(String),
        ])
        return { success: true, message: '', result }
      },
    },
    funding: {
      '/api/v4/public/funding-history/': ({ coin, limit, span, rates }) =>
        rates(limit('limit', 50, 100), span('startDate', 'endDate', 1_000)).map(({ time, rate }) => ({
          fundingTime: String(time / 1_000),
          fundingRate: String(rate),
          market: symbolOf(coin),
          settlementPrice: '2248.47',
          rateCalculatedTime: String(time / 1_000 - 28_800),
        })),
    },
    tickers: {
      '/api/v4/public/futures': (asked) => ({
        success: true,
        message: null,
        result: eachTicker(ticker)(asked),
      }),
    },
  },
})
