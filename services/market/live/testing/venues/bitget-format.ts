import type { Coin } from '../../../../../contracts/series.ts'
import type { FakeMarket } from '../fake-market.ts'
import {
  BY_HAND,
  coinNamed,
  newestFirst,
  numberOf,
  timeframeNamed,
  type VenueFormat,
} from '../venue-format.ts'

const NAMES = { '1h': '1H', '2h': '2H', '4h': '4H' }

const symbolOf = (coin: Coin): string => `${coin}USDT`
const wrap = (data: unknown) => ({ code: '00000', msg: 'success', requestTime: 1_700_533_773_477, data })
const unknown = { code: '40034', msg: 'Parameter does not exist', requestTime: 1_700_533_773_477, data: null }

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

export const bitgetFormat: VenueFormat = {
  exchange: 'BITGET',
  source: `${BY_HAND}; candles as in answers of another client's tests`,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['symbol'])
    switch (path) {
      case '/api/v2/mix/market/contracts': {
        const isUsdt = query['productType'] === 'USDT-FUTURES'
        return { route: 'markets', body: wrap(isUsdt ? fake.coins().map((one) => market(one, fake)) : []) }
      }
      case '/api/v2/mix/market/candles':
      case '/api/v2/mix/market/history-candles': {
        if (coin === undefined) return { route: 'candles', status: 400, body: unknown }
        const end = numberOf(query['endTime'])
        const from = numberOf(query['startTime'])
        const rows = fake.candles(coin, timeframeNamed(NAMES, query['granularity']), {
          limit: Math.min(path.endsWith('history-candles') ? 200 : 1_000, Number(query['limit'] ?? 100)),
          keep: 'last',
          ...(from !== undefined && { from }),
          ...(end !== undefined && { to: end - 1 }),
        })
        const data = rows.map(({ openTime, open, high, low, close, volume }) =>
          [openTime, open, high, low, close, volume, volume * close].map(String),
        )
        return { route: 'candles', body: wrap(data) }
      }
      case '/api/v2/mix/market/history-fund-rate': {
        if (coin === undefined) return { route: 'funding', status: 400, body: unknown }
        const size = Math.min(100, Number(query['pageSize'] ?? 20))
        const page = Number(query['pageNo'] ?? 1)
        const all = newestFirst(fake.funding(coin, 0, fake.now()), 1_000)
        const data = all.slice((page - 1) * size, page * size).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: String(rate),
          fundingTime: String(time),
        }))
        return { route: 'funding', body: wrap(data) }
      }
      case '/api/v2/mix/market/tickers':
        return { route: 'tickers', body: wrap(tickers(fake)) }
      default:
        return undefined
    }
  },
}

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume, turnover, openInterest } = fake.ticker(coin)
    return {
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
    }
  })
