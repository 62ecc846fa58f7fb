import type { Coin } from '../../../../../contracts/series.ts'
import { HOUR_MS, type Timeframe } from '../../../../../contracts/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import { BY_HAND, coinNamed, newestFirst, numberOf, type VenueFormat } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.0001

const symbolOf = (coin: Coin): string => `${coin}_USDT`
const unknown = { label: 'CONTRACT_NOT_FOUND', message: 'contract not found' }

const market = (coin: Coin, fake: FakeMarket) => ({
  name: symbolOf(coin),
  type: 'direct',
  quanto_multiplier: String(COINS_PER_CONTRACT),
  ref_discount_rate: '0',
  order_price_deviate: '0.5',
  maintenance_rate: '0.004',
  mark_type: 'index',
  last_price: '38026',
  mark_price: '37985.6',
  index_price: '37954.92',
  funding_rate: '0.002053',
  mark_price_round: '0.01',
  funding_offset: 0,
  in_delisting: false,
  order_price_round: '0.1',
  order_size_min: 1,
  order_size_max: 1_000_000,
  leverage_min: '1',
  leverage_max: '100',
  funding_interval: (fake.fundingHours(coin) * HOUR_MS) / 1_000,
  create_time: 1_569_398_400,
  status: 'trading',
})

export const gateFormat: VenueFormat = {
  exchange: 'GATE',
  source: `${BY_HAND}; candles as in answers of another client's tests`,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['contract'])
    switch (path) {
      case '/api/v4/futures/usdt/contracts':
        return { route: 'markets', body: fake.coins().map((one) => market(one, fake)) }
      case '/api/v4/futures/usdt/candlesticks': {
        if (coin === undefined) return { route: 'candles', status: 400, body: unknown }
        const [from, to] = [numberOf(query['from']), numberOf(query['to'])]
        const rows = fake.candles(coin, query['interval'] as Timeframe, {
          limit: Number(query['limit'] ?? 2_000),
          keep: 'last',
          ...(from !== undefined && { from: from * 1_000 }),
          ...(to !== undefined && { to: to * 1_000 }),
        })
        const body = rows.map(({ openTime, open, high, low, close, volume }) => ({
          t: openTime / 1_000,
          v: volume / COINS_PER_CONTRACT,
          c: String(close),
          h: String(high),
          l: String(low),
          o: String(open),
          sum: String(volume * close),
        }))
        return { route: 'candles', body }
      }
      case '/api/v4/futures/usdt/funding_rate': {
        if (coin === undefined) return { route: 'funding', status: 400, body: unknown }
        const rates = fake.funding(coin, Number(query['from'] ?? 0) * 1_000, fake.now())
        const body = newestFirst(rates, Number(query['limit'] ?? 100)).map(({ time, rate }) => ({
          t: time / 1_000,
          r: String(rate),
        }))
        return { route: 'funding', body }
      }
      case '/api/v4/futures/usdt/tickers':
        return { route: 'tickers', body: tickers(fake) }
      default:
        return undefined
    }
  },
}

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume, turnover, openInterest } = fake.ticker(coin)
    return {
      contract: symbolOf(coin),
      last: String(last),
      low_24h: String(low),
      high_24h: String(high),
      change_percentage: String((100 * (last - open)) / open),
      total_size: String(openInterest / COINS_PER_CONTRACT),
      volume_24h: String(volume / COINS_PER_CONTRACT),
      volume_24h_base: String(volume),
      volume_24h_quote: String(turnover),
      volume_24h_settle: String(turnover),
      mark_price: String(last),
      funding_rate: '0.0001',
      funding_rate_indicative: '0.0001',
      index_price: String(last),
    }
  })
