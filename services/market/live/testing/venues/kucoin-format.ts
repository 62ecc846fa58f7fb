import type { Coin } from '../../../../../contracts/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../../../../contracts/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import { BY_HAND, coinNamed, newestFirst, type VenueFormat } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.001

/** It calls bitcoin XBT. */
const baseOf = (coin: Coin): string => (coin === 'BTC' ? 'XBT' : coin)
const symbolOf = (coin: Coin): string => `${baseOf(coin)}USDTM`
const wrap = (data: unknown) => ({ code: '200000', data })
const unknown = { code: '100001', msg: 'Symbol not exists' }

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

export const kucoinFormat: VenueFormat = {
  exchange: 'KUCOIN',
  source: `${BY_HAND}; candles as in answers of another client's tests`,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['symbol'])
    switch (path) {
      case '/api/v1/contracts/active':
        return { route: 'markets', body: wrap(fake.coins().map((one) => market(one, fake))) }
      case '/api/v1/kline/query': {
        if (coin === undefined) return { route: 'candles', body: unknown }
        const minutes = Number(query['granularity'])
        const timeframe = TIMEFRAMES.find((one) => timeframeMs(one) === minutes * 60_000) ?? '1m'
        const rows = fake.candles(coin, timeframe, {
          limit: 200,
          keep: 'first',
          from: Number(query['from']),
          to: Number(query['to']),
        })
        const data = rows.map(({ openTime, open, high, low, close, volume }) => [
          openTime,
          open,
          high,
          low,
          close,
          volume / COINS_PER_CONTRACT,
        ])
        return { route: 'candles', body: wrap(data) }
      }
      case '/api/v1/contract/funding-rates': {
        if (coin === undefined) return { route: 'funding', body: unknown }
        const rates = fake.funding(coin, Number(query['from'] ?? 0), Number(query['to'] ?? fake.now()))
        const data = newestFirst(rates, 1_000).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: rate,
          timepoint: time,
        }))
        return { route: 'funding', body: wrap(data) }
      }
      default:
        return undefined
    }
  },
}
