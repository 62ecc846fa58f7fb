import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachTicker, secondFunding } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.001

const symbolOf = (coin: Coin): string => `${coin}-USDT`

const market = (coin: Coin) => ({
  symbol: coin,
  contract_code: symbolOf(coin),
  contract_size: COINS_PER_CONTRACT,
  price_tick: 0.1,
  delivery_date: '',
  delivery_time: '',
  create_date: '20201021',
  contract_status: 1,
  settlement_date: '1640764800000',
  support_margin_mode: 'all',
  business_type: 'swap',
  pair: symbolOf(coin),
  contract_type: 'swap',
  trade_partition: 'USDT',
})

const present = (coin: Coin, fake: FakeMarket) => ({
  contract_code: symbolOf(coin),
  funding_rate: '0.000100000000000000',
  funding_time: String(fake.nextFunding(coin)),
  next_funding_time: String(secondFunding(coin, fake)),
})

const ticker = ({ coin, last, open, high, low, volume, turnover }: FakeTicker, fake: FakeMarket) => ({
  id: Math.floor(fake.now() / 1_000),
  ts: fake.now(),
  ask: [last, 100],
  bid: [last, 26],
  contract_code: symbolOf(coin),
  business_type: 'swap',
  open: String(open),
  close: String(last),
  low: String(low),
  high: String(high),
  amount: String(volume),
  count: 882,
  vol: String(volume / COINS_PER_CONTRACT),
  trade_turnover: String(turnover),
})

/** Made by hand from the venue's documentation. */
export const htxFormat = createVenueFormat({
  symbolOf,
  symbolIn: 'contract_code',
  timeframeIn: 'period',
  timeframes: {
    '1m': '1min',
    '5m': '5min',
    '15m': '15min',
    '30m': '30min',
    '1h': '60min',
    '4h': '4hour',
  },
  perContract: ['candles', 'funding', 'intervals'],
  unknown: {
    body: {
      status: 'error',
      'err-code': 'bad-request',
      'err-msg': 'invalid contract code',
      ts: 1_640_736_207_263,
    },
  },
  routes: {
    markets: {
      '/linear-swap-api/v1/swap_contract_info': ({ fake }) => ({
        status: 'ok',
        data: fake.coins().map(market),
        ts: fake.now(),
      }),
    },
    candles: {
      '/linear-swap-ex/market/history/kline'({ query, fake, number, span, bars }) {
        const size = number('size')
        // A number of candles makes it ignore the times.
        const rows = bars(
          size === undefined ? { limit: 2_000, ...span('from', 'to', 1_000) } : { limit: size },
        )
        const data = rows.map(({ openTime, open, high, low, close, volume }) => ({
          id: openTime / 1_000,
          open,
          close,
          low,
          high,
          amount: volume,
          vol: volume / COINS_PER_CONTRACT,
          count: 882,
          trade_turnover: volume * close,
        }))
        const ch = `market.${query['contract_code']}.kline.${query['period']}`
        return { ch, ts: fake.now(), status: 'ok', data }
      },
    },
    funding: {
      '/v5/market/funding_rate_history'({ query, fake, limit, span, rates }) {
        const found = rates(limit('limit', 10, 100), span('start_time', 'end_time'))
        const data = found.map(({ time, rate }, index) => ({
          id: String(index + 1),
          contract_code: query['contract_code'],
          funding_rate: String(rate),
          funding_time: String(time),
        }))
        return { code: 200, message: 'Success', data, ts: fake.now() }
      },
    },
    intervals: {
      '/v5/market/funding_rate': ({ coin, fake }) => ({
        code: 200,
        message: 'Success',
        data: [present(coin, fake)],
        ts: fake.now(),
      }),
    },
    tickers: {
      '/linear-swap-ex/market/detail/batch_merged': (asked) => ({
        status: 'ok',
        ticks: eachTicker(ticker)(asked),
        ts: asked.fake.now(),
      }),
    },
  },
})
