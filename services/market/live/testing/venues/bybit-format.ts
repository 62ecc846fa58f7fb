import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachTicker } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}USDT`

const market = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  contractType: 'LinearPerpetual',
  status: 'Trading',
  baseCoin: coin,
  quoteCoin: 'USDT',
  settleCoin: 'USDT',
  launchTime: '1585526400000',
  deliveryTime: '0',
  priceScale: '2',
  leverageFilter: { minLeverage: '1', maxLeverage: '100.00', leverageStep: '0.01' },
  priceFilter: { minPrice: '0.10', maxPrice: '199999.80', tickSize: '0.10' },
  lotSizeFilter: { maxOrderQty: '100.000', minOrderQty: '0.001', qtyStep: '0.001' },
  fundingInterval: fake.fundingHours(coin) * 60,
})

const ticker = ({ coin, last, open, high, low, volume, turnover, openInterest }: FakeTicker) => ({
  symbol: symbolOf(coin),
  lastPrice: String(last),
  indexPrice: String(last),
  markPrice: String(last),
  prevPrice24h: String(open),
  price24hPcnt: String((last - open) / open),
  highPrice24h: String(high),
  lowPrice24h: String(low),
  openInterest: String(openInterest),
  openInterestValue: String(openInterest * last),
  turnover24h: String(turnover),
  volume24h: String(volume),
  fundingRate: '0.0001',
  nextFundingTime: '1672387200000',
  ask1Size: '1',
  bid1Price: String(last),
  ask1Price: String(last),
  bid1Size: '1',
})

/** Made by hand from the venue's documentation; candles, contracts and funding as in recorded answers. */
export const bybitFormat = createVenueFormat({
  symbolOf,
  timeframeIn: 'interval',
  timeframes: {
    '1m': '1',
    '3m': '3',
    '5m': '5',
    '15m': '15',
    '30m': '30',
    '1h': '60',
    '2h': '120',
    '4h': '240',
  },
  unknown: {
    body: { retCode: 10_001, retMsg: 'params error: Symbol Invalid', result: {}, retExtInfo: {} },
  },
  wrap: (result) => ({ retCode: 0, retMsg: 'OK', result, retExtInfo: {}, time: 1_672_712_495_660 }),
  routes: {
    markets: {
      '/v5/market/instruments-info'({ query, fake }) {
        const list = query['status'] === 'PreLaunch' ? [] : fake.coins().map((one) => market(one, fake))
        return { category: 'linear', list, nextPageCursor: '' }
      },
    },
    candles: {
      '/v5/market/kline'({ query, limit, span, bars }) {
        const range = span('start', 'end')
        // Counted from the start where only that is given, else back from the end.
        const keep = range.from !== undefined && range.to === undefined ? 'first' : 'last'
        const rows = bars({ limit: limit('limit', 200), keep, ...range })
        const list = rows.map(({ openTime, open, high, low, close, volume }) =>
          [openTime, open, high, low, close, volume, volume * close].map(String),
        )
        return { symbol: query['symbol'], category: 'linear', list: list.toReversed() }
      },
    },
    funding: {
      '/v5/market/funding/history'({ query, limit, span, rates }) {
        const list = rates(limit('limit', 200), span('startTime', 'endTime')).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: String(rate),
          fundingRateTimestamp: String(time),
        }))
        return { category: 'linear', list }
      },
    },
    tickers: {
      '/v5/market/tickers': (asked) => ({ category: 'linear', list: eachTicker(ticker)(asked) }),
    },
  },
})
