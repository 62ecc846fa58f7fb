import type { Coin } from '../../../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../../../contracts/domain/timeframes.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachCoin, eachTicker } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.0001

const symbolOf = (coin: Coin): string => `${coin}_USDT`

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

const ticker = ({ coin, last, open, high, low, volume, turnover, openInterest }: FakeTicker) => ({
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
})

/** Made by hand from the venue's documentation; candles as in answers of another client's tests. */
export const gateFormat = createVenueFormat({
  symbolOf,
  symbolIn: 'contract',
  timeframeIn: 'interval',
  unknown: { status: 400, body: { label: 'CONTRACT_NOT_FOUND', message: 'contract not found' } },
  routes: {
    markets: { '/api/v4/futures/usdt/contracts': eachCoin(market) },
    candles: {
      '/api/v4/futures/usdt/candlesticks': ({ limit, span, bars }) =>
        bars({ limit: limit('limit', 2_000), ...span('from', 'to', 1_000) }).map(
          ({ openTime, open, high, low, close, volume }) => ({
            t: openTime / 1_000,
            v: volume / COINS_PER_CONTRACT,
            c: String(close),
            h: String(high),
            l: String(low),
            o: String(open),
            sum: String(volume * close),
          }),
        ),
    },
    funding: {
      '/api/v4/futures/usdt/funding_rate': ({ limit, span, rates }) =>
        rates(limit('limit', 100), span('from', '', 1_000)).map(({ time, rate }) => ({
          t: time / 1_000,
          r: String(rate),
        })),
    },
    tickers: { '/api/v4/futures/usdt/tickers': eachTicker(ticker) },
  },
})
