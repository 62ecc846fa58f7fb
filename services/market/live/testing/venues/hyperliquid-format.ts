import { type Timeframe, timeframeMs } from '../../../../../contracts/domain/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import type { FakeAnswer, VenueFormat } from '../venue-format.ts'

/** Candles that the venue keeps, whatever their length. */
const KEPT = 5_000

interface CandleRequest {
  readonly coin: string
  readonly interval: Timeframe
  readonly startTime: number
  readonly endTime: number
}

function candles({ coin, interval, startTime, endTime }: CandleRequest, fake: FakeMarket): FakeAnswer {
  // It answers an unknown coin with an error of its own.
  if (!fake.has(coin)) return { route: 'candles', status: 422, body: { error: `unknown coin ${coin}` } }
  const oldest = fake.now() - KEPT * timeframeMs(interval)
  const rows = fake.candles(coin, interval, {
    from: Math.max(startTime, oldest),
    to: endTime,
    limit: KEPT,
    keep: 'last',
  })
  const body = rows.map(({ openTime, open, high, low, close, volume }) => ({
    t: openTime,
    T: openTime + timeframeMs(interval) - 1,
    s: coin,
    i: interval,
    o: String(open),
    c: String(close),
    h: String(high),
    l: String(low),
    v: String(volume),
    n: 46,
  }))
  return { route: 'candles', body }
}

const markets = (fake: FakeMarket): unknown => [
  {
    universe: [
      ...fake.coins().map((coin) => ({ szDecimals: 5, name: coin, maxLeverage: 50 })),
      { szDecimals: 1, name: 'MATIC', maxLeverage: 20, isDelisted: true },
    ],
  },
  [
    ...fake.coins().map((coin) => {
      const { last, open, volume, turnover, openInterest } = fake.ticker(coin)
      return {
        funding: '0.0000125',
        openInterest: String(openInterest),
        prevDayPx: String(open),
        dayNtlVlm: String(turnover),
        premium: '0.00031774',
        oraclePx: String(last),
        markPx: String(last),
        midPx: String(last),
        impactPxs: [String(last), String(last)],
        dayBaseVlm: String(volume),
      }
    }),
    {
      funding: '0.0',
      openInterest: '0.0',
      prevDayPx: '0.37',
      dayNtlVlm: '0.0',
      markPx: '0.37',
      oraclePx: '0.37',
    },
  ],
]

/** Made by hand from the venue's documentation; candles, funding and contracts as in recorded answers. */
export const hyperliquidFormat: VenueFormat = ({ path, body }, fake) => {
  if (path !== '/info') return undefined
  switch (body['type']) {
    case 'metaAndAssetCtxs':
      return { route: 'markets', body: markets(fake) }
    case 'candleSnapshot':
      return candles(body['req'] as CandleRequest, fake)
    case 'fundingHistory': {
      const coin = String(body['coin'])
      const rates = fake.funding(coin, Number(body['startTime']), Number(body['endTime'] ?? fake.now()))
      // Settled some milliseconds late, as the venue writes it.
      const rows = rates.slice(0, 500).map(({ time, rate }) => ({
        coin,
        fundingRate: String(rate),
        premium: '0.00031774',
        time: time + 31,
      }))
      return { route: 'funding', body: rows }
    }
    default:
      return undefined
  }
}
