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
const COINS_PER_CONTRACT = 0.01

const symbolOf = (coin: Coin): string => `${coin}-USDT-SWAP`
const wrap = (data: unknown) => ({ code: '0', msg: '', data })
const unknown = { code: '51001', msg: "Instrument ID or Spread ID doesn't exist.", data: [] }

const market = (coin: Coin) => ({
  alias: '',
  baseCcy: '',
  category: '1',
  ctMult: '1',
  ctType: 'linear',
  ctVal: String(COINS_PER_CONTRACT),
  ctValCcy: coin,
  expTime: '',
  instFamily: `${coin}-USDT`,
  instId: symbolOf(coin),
  instType: 'SWAP',
  lever: '100',
  listTime: '1573557408000',
  lotSz: '0.1',
  minSz: '0.1',
  optType: '',
  quoteCcy: '',
  settleCcy: 'USDT',
  state: 'live',
  stk: '',
  tickSz: '0.1',
  uly: `${coin}-USDT`,
})

/** Paid in coins, and therefore not to be listed. */
const inverse = {
  ...market('BTC'),
  instId: 'BTC-USD-SWAP',
  instFamily: 'BTC-USD',
  uly: 'BTC-USD',
  settleCcy: 'BTC',
  ctType: 'inverse',
}

export const okxFormat: VenueFormat = {
  exchange: 'OKX',
  source: `${BY_HAND}; candles, contracts and funding as in recorded answers`,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['instId'])
    switch (path) {
      case '/api/v5/public/instruments':
        return { route: 'markets', body: wrap([...fake.coins().map(market), inverse]) }
      case '/api/v5/market/candles':
      case '/api/v5/market/history-candles': {
        if (coin === undefined) return { route: 'candles', body: unknown }
        const after = numberOf(query['after'])
        const before = numberOf(query['before'])
        const rows = fake.candles(coin, timeframeNamed(NAMES, query['bar']), {
          limit: Math.min(300, Number(query['limit'] ?? 100)),
          keep: 'last',
          // Both ends are left out.
          ...(before !== undefined && { from: before + 1 }),
          ...(after !== undefined && { to: after - 1 }),
        })
        const data = rows.map(({ openTime, open, high, low, close, volume }) =>
          [openTime, open, high, low, close, volume / COINS_PER_CONTRACT, volume, volume * close, '1'].map(
            String,
          ),
        )
        return { route: 'candles', body: wrap(data.toReversed()) }
      }
      case '/api/v5/public/funding-rate-history': {
        if (coin === undefined) return { route: 'funding', body: unknown }
        const [from, to] = [Number(query['before'] ?? 0) + 1, Number(query['after'] ?? fake.now() + 1) - 1]
        const data = newestFirst(fake.funding(coin, from, to), Number(query['limit'] ?? 100)).map(
          ({ time, rate }) => ({
            instType: 'SWAP',
            instId: query['instId'],
            fundingRate: String(rate),
            realizedRate: String(rate),
            fundingTime: String(time),
            method: 'current_period',
          }),
        )
        return { route: 'funding', body: wrap(data) }
      }
      case '/api/v5/public/funding-rate':
        return { route: 'intervals', body: wrap(fake.coins().map((one) => present(one, fake))) }
      case '/api/v5/market/tickers':
        return { route: 'tickers', body: wrap(tickers(fake)) }
      case '/api/v5/public/open-interest':
        return { route: 'openInterest', body: wrap(openInterests(fake)) }
      default:
        return undefined
    }
  },
}

const present = (coin: Coin, fake: FakeMarket) => ({
  instType: 'SWAP',
  instId: symbolOf(coin),
  method: 'current_period',
  fundingRate: '0.0001',
  fundingTime: String(fake.nextFunding(coin)),
  nextFundingRate: '',
  nextFundingTime: String(fake.nextFunding(coin) + fake.fundingHours(coin) * 3_600_000),
})

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume } = fake.ticker(coin)
    return {
      instType: 'SWAP',
      instId: symbolOf(coin),
      last: String(last),
      lastSz: '1',
      askPx: String(last),
      askSz: '4',
      bidPx: String(last),
      bidSz: '4',
      open24h: String(open),
      high24h: String(high),
      low24h: String(low),
      volCcy24h: String(volume),
      vol24h: String(volume / COINS_PER_CONTRACT),
      ts: String(fake.now()),
    }
  })

const openInterests = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, openInterest } = fake.ticker(coin)
    return {
      instId: symbolOf(coin),
      instType: 'SWAP',
      oi: String(openInterest / COINS_PER_CONTRACT),
      oiCcy: String(openInterest),
      oiUsd: String(openInterest * last),
      ts: String(fake.now()),
    }
  })
