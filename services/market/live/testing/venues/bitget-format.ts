import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachTicker, type Writer } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}USDT`

const market = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  baseCoin: coin,
  quoteCoin: 'USDT',
  buyLimitPriceRatio: '0.01',
  sellLimitPriceRatio: '0.01',
  makerFeeRate: '0.0002',
  takerFeeRate: '0.0006',
  supportMarginCoins: ['USDT'],
  minTradeNum: '0.001',
  priceEndStep: '1',
  volumePlace: '3',
  pricePlace: '1',
  sizeMultiplier: '0.001',
  symbolType: 'perpetual',
  minTradeUSDT: '5',
  symbolStatus: 'normal',
  fundInterval: String(fake.fundingHours(coin)),
  minLever: '1',
  maxLever: '125',
})

const ticker = (
  { coin, last, open, high, low, volume, turnover, openInterest }: FakeTicker,
  fake: FakeMarket,
) => ({
  symbol: symbolOf(coin),
  lastPr: String(last),
  askPr: String(last),
  bidPr: String(last),
  bidSz: '0.703',
  askSz: '13.894',
  high24h: String(high),
  low24h: String(low),
  ts: String(fake.now()),
  change24h: String((last - open) / open),
  baseVolume: String(volume),
  quoteVolume: String(turnover),
  usdtVolume: String(turnover),
  openUtc: String(open),
  indexPrice: String(last),
  fundingRate: '-0.000014',
  holdingAmount: String(openInterest),
  open24h: String(open),
  markPrice: String(last),
})

const candles =
  (most: number): Writer =>
  ({ limit, span, bars }) => {
    const { from, to } = span('startTime', 'endTime')
    const rows = bars({ limit: limit('limit', 100, most), from, to: to && to - 1 })
    return rows.map(({ openTime, open, high, low, close, volume }) =>
      [openTime, open, high, low, close, volume, volume * close].map(String),
    )
  }

/** Made by hand from the venue's documentation; candles as in answers of another client's tests. */
export const bitgetFormat = createVenueFormat({
  symbolOf,
  timeframeIn: 'granularity',
  timeframes: { '1h': '1H', '2h': '2H', '4h': '4H' },
  unknown: {
    status: 400,
    body: { code: '40034', msg: 'Parameter does not exist', requestTime: 1_700_533_773_477, data: null },
  },
  wrap: (data) => ({ code: '00000', msg: 'success', requestTime: 1_700_533_773_477, data }),
  routes: {
    markets: {
      '/api/v2/mix/market/contracts': ({ query, fake }) =>
        query['productType'] === 'USDT-FUTURES' ? fake.coins().map((coin) => market(coin, fake)) : [],
    },
    candles: {
      '/api/v2/mix/market/candles': candles(1_000),
      '/api/v2/mix/market/history-candles': candles(200),
    },
    funding: {
      '/api/v2/mix/market/history-fund-rate'({ query, limit, rates }) {
        const size = limit('pageSize', 20, 100)
        const page = limit('pageNo', 1)
        return rates(1_000)
          .slice((page - 1) * size, page * size)
          .map(({ time, rate }) => ({
            symbol: query['symbol'],
            fundingRate: String(rate),
            fundingTime: String(time),
          }))
      },
    },
    tickers: { '/api/v2/mix/market/tickers': eachTicker(ticker) },
  },
})
