import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachCoin, eachTicker } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.0001
const BASE = '/api/v1/contract'

const symbolOf = (coin: Coin): string => `${coin}_USDT`

const market = (coin: Coin) => ({
  symbol: symbolOf(coin),
  displayNameEn: `${coin}_USDT PERPETUAL`,
  positionOpenType: 3,
  baseCoin: coin,
  quoteCoin: 'USDT',
  settleCoin: 'USDT',
  contractSize: COINS_PER_CONTRACT,
  minLeverage: 1,
  maxLeverage: 125,
  priceScale: 2,
  volScale: 0,
  priceUnit: 0.5,
  volUnit: 1,
  minVol: 1,
  maxVol: 1_000_000,
  takerFeeRate: 0.0006,
  makerFeeRate: 0.0002,
  state: 0,
  isHidden: false,
})

const ticker = (
  { coin, last, open, high, low, volume, turnover, openInterest }: FakeTicker,
  fake: FakeMarket,
) => ({
  symbol: symbolOf(coin),
  lastPrice: last,
  bid1: last,
  ask1: last,
  volume24: volume / COINS_PER_CONTRACT,
  amount24: turnover,
  holdVol: openInterest / COINS_PER_CONTRACT,
  lower24Price: low,
  high24Price: high,
  riseFallRate: (last - open) / open,
  riseFallValue: last - open,
  indexPrice: last,
  fairPrice: last,
  fundingRate: 0.000063,
  timestamp: fake.now(),
})

/** Made by hand from the venue's documentation; candles as in answers of another client's tests. */
export const mexcFormat = createVenueFormat({
  symbolOf,
  timeframeIn: 'interval',
  timeframes: { '1m': 'Min1', '5m': 'Min5', '15m': 'Min15', '30m': 'Min30', '1h': 'Min60', '4h': 'Hour4' },
  unknown: { body: { success: false, code: 1_001, message: 'Contract does not exist!' } },
  wrap: (data) => ({ success: true, code: 0, data }),
  routes: {
    markets: { [`${BASE}/detail`]: eachCoin(market) },
    candles: {
      [`${BASE}/kline/`]({ span, bars }) {
        const rows = bars({ limit: 2_000, ...span('start', 'end', 1_000) })
        return {
          time: rows.map(({ openTime }) => openTime / 1_000),
          open: rows.map(({ open }) => open),
          close: rows.map(({ close }) => close),
          high: rows.map(({ high }) => high),
          low: rows.map(({ low }) => low),
          vol: rows.map(({ volume }) => volume / COINS_PER_CONTRACT),
          amount: rows.map(({ volume, close }) => volume * close),
        }
      },
    },
    funding: {
      [`${BASE}/funding_rate/history`]({ query, limit, rates }) {
        const pageSize = limit('page_size', 20, 1_000)
        const currentPage = limit('page_num', 1)
        const all = rates(10_000)
        const resultList = all
          .slice((currentPage - 1) * pageSize, currentPage * pageSize)
          .map(({ time, rate }) => ({ symbol: query['symbol'], fundingRate: rate, settleTime: time }))
        const totalPage = Math.ceil(all.length / pageSize)
        return { pageSize, totalCount: all.length, totalPage, currentPage, resultList }
      },
    },
    tickers: { [`${BASE}/ticker`]: eachTicker(ticker) },
  },
})
