import type { Coin } from '../../../../../contracts/series.ts'
import type { Timeframe } from '../../../../../contracts/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import { BY_HAND, coinNamed, newestFirst, numberOf, type VenueFormat } from '../venue-format.ts'

const FUNDING_PATH = '/api/v4/public/funding-history/'

const symbolOf = (coin: Coin): string => `${coin}_PERP`
const unknown = { success: false, message: { market: ['Market is not available.'] }, result: [] }

const market = (coin: Coin) => ({
  name: symbolOf(coin),
  stock: coin,
  money: 'USDT',
  stockPrec: '3',
  moneyPrec: '1',
  feePrec: '6',
  makerFee: '0.01',
  takerFee: '0.055',
  minAmount: '0.001',
  minTotal: '5.05',
  maxTotal: '10000000',
  tradesEnabled: true,
  isCollateral: true,
  type: 'futures',
})

/** Not to be listed. */
const spot = { ...market('BTC'), name: 'BTC_USDT', type: 'spot' }

export const whitebitFormat: VenueFormat = {
  exchange: 'WHITEBIT',
  source: BY_HAND,
  answer({ path, query }, fake) {
    if (path.startsWith(FUNDING_PATH)) {
      const coin = coinNamed(fake, symbolOf, path.slice(FUNDING_PATH.length))
      if (coin === undefined) return { route: 'funding', status: 422, body: unknown }
      const rates = fake.funding(coin, Number(query['startDate'] ?? 0) * 1_000, fake.now())
      const body = newestFirst(rates, Math.min(100, Number(query['limit'] ?? 50))).map(({ time, rate }) => ({
        fundingTime: String(time / 1_000),
        fundingRate: String(rate),
        market: symbolOf(coin),
        settlementPrice: '2248.47',
        rateCalculatedTime: String(time / 1_000 - 28_800),
      }))
      return { route: 'funding', body }
    }
    switch (path) {
      case '/api/v4/public/markets':
        return { route: 'markets', body: [spot, ...fake.coins().map(market)] }
      case '/api/v1/public/kline': {
        const coin = coinNamed(fake, symbolOf, query['market'])
        if (coin === undefined) return { route: 'candles', status: 422, body: unknown }
        const from = numberOf(query['start'])
        const rows = fake.candles(coin, query['interval'] as Timeframe, {
          limit: Math.min(1_440, Number(query['limit'] ?? 1_440)),
          keep: from === undefined ? 'last' : 'first',
          ...(from !== undefined && { from: from * 1_000 }),
        })
        const result = rows.map(({ openTime, open, high, low, close, volume }) => [
          openTime / 1_000,
          ...[open, close, high, low, volume, volume * close].map(String),
        ])
        return { route: 'candles', body: { success: true, message: '', result } }
      }
      case '/api/v4/public/futures':
        return { route: 'tickers', body: { success: true, message: null, result: tickers(fake) } }
      default:
        return undefined
    }
  },
}

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, high, low, volume, turnover, openInterest } = fake.ticker(coin)
    return {
      ticker_id: symbolOf(coin),
      stock_currency: coin,
      money_currency: 'USDT',
      last_price: String(last),
      stock_volume: String(volume),
      money_volume: String(turnover),
      bid: String(last),
      ask: String(last),
      high: String(high),
      low: String(low),
      product_type: 'Perpetual',
      open_interest: String(openInterest),
      index_price: String(last),
      funding_rate: '-0.00000778',
      next_funding_rate_timestamp: '1772467200000',
      max_leverage: 50,
      funding_interval_minutes: fake.fundingHours(coin) * 60,
    }
  })
