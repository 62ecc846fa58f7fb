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

const NAMES = {
  '1m': '1',
  '3m': '3',
  '5m': '5',
  '15m': '15',
  '30m': '30',
  '1h': '60',
  '2h': '120',
  '4h': '240',
}

const symbolOf = (coin: Coin): string => `${coin}USDT`
const wrap = (result: unknown) => ({
  retCode: 0,
  retMsg: 'OK',
  result,
  retExtInfo: {},
  time: 1_672_712_495_660,
})
const unknown = { retCode: 10_001, retMsg: 'params error: Symbol Invalid', result: {}, retExtInfo: {} }

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

export const bybitFormat: VenueFormat = {
  exchange: 'BYBIT',
  source: `${BY_HAND}; candles, contracts and funding as in recorded answers`,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['symbol'])
    switch (path) {
      case '/v5/market/instruments-info': {
        const list = query['status'] === 'PreLaunch' ? [] : fake.coins().map((one) => market(one, fake))
        return { route: 'markets', body: wrap({ category: 'linear', list, nextPageCursor: '' }) }
      }
      case '/v5/market/kline': {
        if (coin === undefined) return { route: 'candles', body: unknown }
        const from = numberOf(query['start'])
        const to = numberOf(query['end'])
        const limit = Number(query['limit'] ?? 200)
        // Counted from the start where only that is given, else back from the end.
        const keep = from !== undefined && to === undefined ? 'first' : 'last'
        const range = {
          limit,
          keep,
          ...(from !== undefined && { from }),
          ...(to !== undefined && { to }),
        } as const
        const rows = fake.candles(coin, timeframeNamed(NAMES, query['interval']), range)
        const list = rows.map((bar) =>
          [bar.openTime, bar.open, bar.high, bar.low, bar.close, bar.volume, bar.volume * bar.close].map(
            String,
          ),
        )
        return {
          route: 'candles',
          body: wrap({ symbol: query['symbol'], category: 'linear', list: list.toReversed() }),
        }
      }
      case '/v5/market/funding/history': {
        if (coin === undefined) return { route: 'funding', body: unknown }
        const rates = fake.funding(
          coin,
          Number(query['startTime'] ?? 0),
          Number(query['endTime'] ?? fake.now()),
        )
        const list = newestFirst(rates, Number(query['limit'] ?? 200)).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: String(rate),
          fundingRateTimestamp: String(time),
        }))
        return { route: 'funding', body: wrap({ category: 'linear', list }) }
      }
      case '/v5/market/tickers':
        return { route: 'tickers', body: wrap({ category: 'linear', list: tickers(fake) }) }
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
    }
  })
