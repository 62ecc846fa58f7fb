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

const NAMES = { '1m': 'Min1', '5m': 'Min5', '15m': 'Min15', '30m': 'Min30', '1h': 'Min60', '4h': 'Hour4' }
const COINS_PER_CONTRACT = 0.0001
const CANDLES = 2_000

const symbolOf = (coin: Coin): string => `${coin}_USDT`
const wrap = (data: unknown) => ({ success: true, code: 0, data })
const unknown = { success: false, code: 1_001, message: 'Contract does not exist!' }

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

export const mexcFormat: VenueFormat = {
  exchange: 'MEXC',
  source: `${BY_HAND}; candles as in answers of another client's tests`,
  answer({ path, query }, fake) {
    const base = '/api/v1/contract'
    if (path.startsWith(`${base}/kline/`)) {
      const coin = coinNamed(fake, symbolOf, path.slice(`${base}/kline/`.length))
      if (coin === undefined) return { route: 'candles', body: unknown }
      const [from, to] = [numberOf(query['start']), numberOf(query['end'])]
      const rows = fake.candles(coin, timeframeNamed(NAMES, query['interval']), {
        limit: CANDLES,
        keep: 'last',
        ...(from !== undefined && { from: from * 1_000 }),
        ...(to !== undefined && { to: to * 1_000 }),
      })
      const data = {
        time: rows.map(({ openTime }) => openTime / 1_000),
        open: rows.map(({ open }) => open),
        close: rows.map(({ close }) => close),
        high: rows.map(({ high }) => high),
        low: rows.map(({ low }) => low),
        vol: rows.map(({ volume }) => volume / COINS_PER_CONTRACT),
        amount: rows.map(({ volume, close }) => volume * close),
      }
      return { route: 'candles', body: wrap(data) }
    }
    switch (path) {
      case `${base}/detail`:
        return { route: 'markets', body: wrap(fake.coins().map(market)) }
      case `${base}/ticker`:
        return { route: 'tickers', body: wrap(tickers(fake)) }
      case `${base}/funding_rate/history`: {
        const coin = coinNamed(fake, symbolOf, query['symbol'])
        if (coin === undefined) return { route: 'funding', body: unknown }
        const size = Math.min(1_000, Number(query['page_size'] ?? 20))
        const page = Number(query['page_num'] ?? 1)
        const all = newestFirst(fake.funding(coin, 0, fake.now()), 10_000)
        const resultList = all.slice((page - 1) * size, page * size).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: rate,
          settleTime: time,
        }))
        const totalPage = Math.ceil(all.length / size)
        return {
          route: 'funding',
          body: wrap({ pageSize: size, totalCount: all.length, totalPage, currentPage: page, resultList }),
        }
      }
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
    }
  })
