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

const NAMES = { '1m': '1min', '5m': '5min', '15m': '15min', '30m': '30min', '1h': '60min', '4h': '4hour' }
const COINS_PER_CONTRACT = 0.001
const CANDLES = 2_000

const symbolOf = (coin: Coin): string => `${coin}-USDT`
const unknown = {
  status: 'error',
  'err-code': 'bad-request',
  'err-msg': 'invalid contract code',
  ts: 1_640_736_207_263,
}

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

export const htxFormat: VenueFormat = {
  exchange: 'HTX',
  source: BY_HAND,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['contract_code'])
    const ts = fake.now()
    switch (path) {
      case '/linear-swap-api/v1/swap_contract_info':
        return { route: 'markets', body: { status: 'ok', data: fake.coins().map(market), ts } }
      case '/linear-swap-ex/market/history/kline': {
        if (coin === undefined) return { route: 'candles', body: unknown }
        const [from, to, size] = ['from', 'to', 'size'].map((name) => numberOf(query[name]))
        const rows = fake.candles(coin, timeframeNamed(NAMES, query['period']), {
          limit: size ?? CANDLES,
          keep: 'last',
          // A number of candles makes it ignore the times.
          ...(size === undefined && from !== undefined && { from: from * 1_000 }),
          ...(size === undefined && to !== undefined && { to: to * 1_000 }),
        })
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
        return { route: 'candles', body: { ch, ts, status: 'ok', data } }
      }
      case '/v5/market/funding_rate_history': {
        if (coin === undefined) return { route: 'funding', body: unknown }
        const rates = fake.funding(coin, Number(query['start_time'] ?? 0), ts)
        const data = newestFirst(rates, Math.min(100, Number(query['limit'] ?? 10))).map(
          ({ time, rate }, index) => ({
            id: String(index + 1),
            contract_code: query['contract_code'],
            funding_rate: String(rate),
            funding_time: String(time),
          }),
        )
        return { route: 'funding', body: { code: 200, message: 'Success', data, ts } }
      }
      case '/v5/market/funding_rate': {
        if (coin === undefined) return { route: 'intervals', body: unknown }
        return {
          route: 'intervals',
          body: { code: 200, message: 'Success', data: [present(coin, fake)], ts },
        }
      }
      case '/linear-swap-ex/market/detail/batch_merged':
        return { route: 'tickers', body: { status: 'ok', ticks: tickers(fake), ts } }
      default:
        return undefined
    }
  },
}

const present = (coin: Coin, fake: FakeMarket) => ({
  contract_code: symbolOf(coin),
  funding_rate: '0.000100000000000000',
  funding_time: String(fake.nextFunding(coin)),
  next_funding_time: String(fake.nextFunding(coin) + fake.fundingHours(coin) * 3_600_000),
})

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume, turnover } = fake.ticker(coin)
    return {
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
    }
  })
