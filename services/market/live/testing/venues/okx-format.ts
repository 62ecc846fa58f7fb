import type { Coin } from '../../../../../contracts/domain/series.ts'
import type { FakeMarket, FakeTicker } from '../fake-market.ts'
import { createVenueFormat, eachCoin, eachTicker, secondFunding, type Writer } from '../venue-format.ts'

const COINS_PER_CONTRACT = 0.01

const symbolOf = (coin: Coin): string => `${coin}-USDT-SWAP`

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

const present = (coin: Coin, fake: FakeMarket) => ({
  instType: 'SWAP',
  instId: symbolOf(coin),
  method: 'current_period',
  fundingRate: '0.0001',
  fundingTime: String(fake.nextFunding(coin)),
  nextFundingRate: '',
  nextFundingTime: String(secondFunding(coin, fake)),
})

const ticker = ({ coin, last, open, high, low, volume }: FakeTicker, fake: FakeMarket) => ({
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
})

const candles: Writer = ({ limit, span, bars }) => {
  const { from, to } = span('before', 'after')
  // Both ends are left out.
  const rows = bars({ limit: limit('limit', 100, 300), from: from && from + 1, to: to && to - 1 })
  return rows
    .toReversed()
    .map(({ openTime, open, high, low, close, volume }) =>
      [openTime, open, high, low, close, volume / COINS_PER_CONTRACT, volume, volume * close, '1'].map(
        String,
      ),
    )
}

/** Made by hand from the venue's documentation; candles, contracts and funding as in recorded answers. */
export const okxFormat = createVenueFormat({
  symbolOf,
  symbolIn: 'instId',
  timeframeIn: 'bar',
  timeframes: { '1h': '1H', '2h': '2H', '4h': '4H' },
  unknown: { body: { code: '51001', msg: "Instrument ID or Spread ID doesn't exist.", data: [] } },
  wrap: (data) => ({ code: '0', msg: '', data }),
  routes: {
    markets: { '/api/v5/public/instruments': ({ fake }) => [...fake.coins().map(market), inverse] },
    candles: { '/api/v5/market/candles': candles, '/api/v5/market/history-candles': candles },
    funding: {
      '/api/v5/public/funding-rate-history'({ query, limit, span, rates }) {
        const { from = 0, to } = span('before', 'after')
        const found = rates(limit('limit', 100), { from: from + 1, to: to && to - 1 })
        return found.map(({ time, rate }) => ({
          instType: 'SWAP',
          instId: query['instId'],
          fundingRate: String(rate),
          realizedRate: String(rate),
          fundingTime: String(time),
          method: 'current_period',
        }))
      },
    },
    intervals: { '/api/v5/public/funding-rate': eachCoin(present) },
    tickers: { '/api/v5/market/tickers': eachTicker(ticker) },
  },
})
