import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachCoin, eachTicker } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.0001
const PUBLIC = '/future/market/v1/public'

const symbolOf = (coin: Coin): string => `${coin.toLowerCase()}_usdt`

const market = (coin: Coin) => ({
  id: 52,
  symbolGroupId: 71,
  symbol: symbolOf(coin),
  pair: symbolOf(coin),
  contractType: 'PERPETUAL',
  productType: 'perpetual',
  underlyingType: 'U_BASED',
  contractSize: String(COINS_PER_CONTRACT),
  tradeSwitch: true,
  isDisplay: true,
  isOpenApi: true,
  state: 0,
  baseCoin: coin.toLowerCase(),
  quoteCoin: 'usdt',
  baseCoinPrecision: 8,
  quoteCoinPrecision: 8,
  quantityPrecision: 0,
  pricePrecision: 1,
  minQty: '1',
  minNotional: '5',
  maxNotional: '20000000',
  makerFee: '0.0004',
  takerFee: '0.0006',
  onboardDate: 1_657_101_601_000,
  deliveryDate: 4_102_416_000_000,
})

const ticker = ({ coin, last, open, high, low, volume, turnover }: FakeTicker, fake: FakeMarket) => ({
  t: fake.now(),
  s: symbolOf(coin),
  c: String(last),
  h: String(high),
  l: String(low),
  a: String(volume / COINS_PER_CONTRACT),
  v: String(turnover),
  o: String(open),
  r: String((last - open) / open),
  i: String(last),
  m: String(last),
  bp: String(last),
  ap: String(last),
})

/** Made by hand from the venue's documentation. */
export const xtFormat = createVenueFormat({
  symbolOf,
  timeframeIn: 'interval',
  unknown: {
    body: {
      returnCode: 1,
      msgInfo: 'failure',
      error: { code: 'invalid_symbol', msg: 'Invalid symbol' },
      result: null,
    },
  },
  wrap: (result) => ({ returnCode: 0, msgInfo: 'success', error: null, result }),
  routes: {
    markets: {
      [`${PUBLIC}/symbol/list`]: eachCoin(market),
      [`${PUBLIC}/plate/list`]: () =>
        ['Layer 1', 'TradFi', 'Tokenized Stocks ', 'FOREX'].map((plate, at) => ({ id: at + 1, plate })),
    },
    candles: {
      [`${PUBLIC}/q/kline`]({ query, limit, span, bars }) {
        const rows = bars({ limit: limit('limit', 500, 1_500), ...span('startTime', 'endTime') })
        return rows.toReversed().map(({ openTime, open, high, low, close, volume }) => ({
          s: query['symbol'],
          p: query['symbol'],
          t: openTime,
          o: String(open),
          c: String(close),
          h: String(high),
          l: String(low),
          a: String(volume / COINS_PER_CONTRACT),
          v: String(volume * close),
        }))
      },
    },
    funding: {
      [`${PUBLIC}/q/funding-rate-record`]({ query, limit, number, rates }) {
        const before = number('id')
        const range = before !== undefined && query['direction'] === 'NEXT' ? { to: before - 1 } : {}
        const items = rates(limit('limit', 10, 200), range).map(({ time, rate, intervalHours }) => ({
          id: String(time),
          symbol: query['symbol'],
          fundingRate: String(rate),
          createdTime: time,
          collectionInternal: intervalHours * 3_600,
        }))
        return { hasPrev: false, hasNext: true, items }
      },
    },
    tickers: { [`${PUBLIC}/q/agg-tickers`]: eachTicker(ticker) },
  },
})
