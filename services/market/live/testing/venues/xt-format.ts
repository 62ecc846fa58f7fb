import type { Coin } from '../../../../../contracts/series.ts'
import type { Timeframe } from '../../../../../contracts/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import { BY_HAND, coinNamed, newestFirst, numberOf, type VenueFormat } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.0001
const PUBLIC = '/future/market/v1/public'

const symbolOf = (coin: Coin): string => `${coin.toLowerCase()}_usdt`
const wrap = (result: unknown) => ({ returnCode: 0, msgInfo: 'success', error: null, result })
const unknown = {
  returnCode: 1,
  msgInfo: 'failure',
  error: { code: 'invalid_symbol', msg: 'Invalid symbol' },
  result: null,
}

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

export const xtFormat: VenueFormat = {
  exchange: 'XT',
  source: BY_HAND,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['symbol'])
    switch (path) {
      case `${PUBLIC}/symbol/list`:
        return { route: 'markets', body: wrap(fake.coins().map(market)) }
      case `${PUBLIC}/q/kline`: {
        if (coin === undefined) return { route: 'candles', body: unknown }
        const [from, to] = [numberOf(query['startTime']), numberOf(query['endTime'])]
        const rows = fake.candles(coin, query['interval'] as Timeframe, {
          limit: Math.min(1_500, Number(query['limit'] ?? 500)),
          keep: 'last',
          ...(from !== undefined && { from }),
          ...(to !== undefined && { to }),
        })
        const result = rows.toReversed().map(({ openTime, open, high, low, close, volume }) => ({
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
        return { route: 'candles', body: wrap(result) }
      }
      case `${PUBLIC}/q/funding-rate-record`: {
        if (coin === undefined) return { route: 'funding', body: unknown }
        const rates = newestFirst(
          fake.funding(coin, 0, fake.now()),
          Math.min(200, Number(query['limit'] ?? 10)),
        )
        const items = rates.map(({ time, rate, intervalHours }) => ({
          id: String(time),
          symbol: query['symbol'],
          fundingRate: String(rate),
          createdTime: time,
          collectionInternal: intervalHours * 3_600,
        }))
        return { route: 'funding', body: wrap({ hasPrev: false, hasNext: true, items }) }
      }
      case `${PUBLIC}/q/agg-tickers`:
        return { route: 'tickers', body: wrap(tickers(fake)) }
      default:
        return undefined
    }
  },
}

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume, turnover } = fake.ticker(coin)
    return {
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
    }
  })
