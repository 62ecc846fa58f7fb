import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket } from '../fake-market.ts'
import { createVenueFormat, eachCoin, timeframesInUnits } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.001

/** It calls bitcoin XBT. */
const baseOf = (coin: Coin): string => (coin === 'BTC' ? 'XBT' : coin)
const symbolOf = (coin: Coin): string => `${baseOf(coin)}USDTM`

const market = (coin: Coin, fake: FakeMarket) => {
  const { last, open, high, low, volume, turnover, openInterest } = fake.ticker(coin)
  return {
    symbol: symbolOf(coin),
    rootSymbol: 'USDT',
    type: 'FFWCSX',
    firstOpenDate: 1_585_555_200_000,
    expireDate: null,
    settleDate: null,
    baseCurrency: baseOf(coin),
    quoteCurrency: 'USDT',
    settleCurrency: 'USDT',
    maxOrderQty: 1_000_000,
    maxPrice: 1_000_000,
    lotSize: 1,
    tickSize: 0.1,
    multiplier: COINS_PER_CONTRACT,
    makerFeeRate: 0.0002,
    takerFeeRate: 0.0006,
    isInverse: false,
    status: 'Open',
    fundingFeeRate: 0.000535,
    openInterest: String(openInterest / COINS_PER_CONTRACT),
    turnoverOf24h: turnover,
    volumeOf24h: volume,
    markPrice: last,
    indexPrice: last,
    lastTradePrice: last,
    nextFundingRateTime: 25_481_884,
    maxLeverage: 100,
    lowPrice: low,
    highPrice: high,
    priceChgPct: (last - open) / open,
    priceChg: last - open,
  }
}

/** Made by hand from the venue's documentation; candles as in answers of another client's tests. */
export const kucoinFormat = createVenueFormat({
  symbolOf,
  timeframeIn: 'granularity',
  timeframes: timeframesInUnits(60_000),
  unknown: { body: { code: '100001', msg: 'Symbol not exists' } },
  wrap: (data) => ({ code: '200000', data }),
  routes: {
    markets: { '/api/v1/contracts/active': eachCoin(market) },
    candles: {
      '/api/v1/kline/query': ({ span, bars }) =>
        bars({ limit: 200, keep: 'first', ...span('from', 'to') }).map(
          ({ openTime, open, high, low, close, volume }) => [
            openTime,
            open,
            high,
            low,
            close,
            volume / COINS_PER_CONTRACT,
          ],
        ),
    },
    funding: {
      '/api/v1/contract/funding-rates': ({ query, span, rates }) =>
        rates(1_000, span('from', 'to')).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: rate,
          timepoint: time,
        })),
    },
  },
})
