import type { Coin } from '../../../../../contracts/series.ts'
import type { Timeframe } from '../../../../../contracts/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import { BY_HAND, coinNamed, newestFirst, numberOf, type VenueFormat } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}-USDT`
const wrap = (data: unknown) => ({ code: 0, msg: '', data })
const unknown = { code: 109_425, msg: 'symbol not exist', data: {} }

const market = (coin: Coin) => ({
  contractId: '100',
  symbol: symbolOf(coin),
  size: '0.0001',
  quantityPrecision: 4,
  pricePrecision: 1,
  feeRate: 0.0005,
  makerFeeRate: 0.0002,
  takerFeeRate: 0.0005,
  tradeMinQuantity: 0.0001,
  tradeMinUSDT: 2,
  currency: 'USDT',
  asset: coin,
  status: 1,
  apiStateOpen: 'true',
  apiStateClose: 'true',
})

export const bingxFormat: VenueFormat = {
  exchange: 'BINGX',
  source: BY_HAND,
  answer({ path, query }, fake) {
    const coin = coinNamed(fake, symbolOf, query['symbol'])
    switch (path) {
      case '/openApi/swap/v2/quote/contracts':
        return { route: 'markets', body: wrap(fake.coins().map(market)) }
      case '/openApi/swap/v3/quote/klines': {
        if (coin === undefined) return { route: 'candles', body: unknown }
        const [from, to] = [numberOf(query['startTime']), numberOf(query['endTime'])]
        const rows = fake.candles(coin, query['interval'] as Timeframe, {
          limit: Math.min(1_440, Number(query['limit'] ?? 500)),
          keep: 'last',
          ...(from !== undefined && { from }),
          ...(to !== undefined && { to }),
        })
        // Newest first.
        const data = rows.toReversed().map(({ openTime, open, high, low, close, volume }) => ({
          open: String(open),
          close: String(close),
          high: String(high),
          low: String(low),
          volume: String(volume),
          time: openTime,
        }))
        return { route: 'candles', body: wrap(data) }
      }
      case '/openApi/swap/v2/quote/fundingRate': {
        if (coin === undefined) return { route: 'funding', body: unknown }
        const rates = fake.funding(
          coin,
          Number(query['startTime'] ?? 0),
          Number(query['endTime'] ?? fake.now()),
        )
        const data = newestFirst(rates, Number(query['limit'] ?? 100)).map(({ time, rate }) => ({
          symbol: query['symbol'],
          fundingRate: String(rate),
          fundingTime: time,
        }))
        return { route: 'funding', body: wrap(data) }
      }
      case '/openApi/swap/v2/quote/premiumIndex':
        return { route: 'intervals', body: wrap(fake.coins().map((one) => present(one, fake))) }
      case '/openApi/swap/v2/quote/ticker':
        return { route: 'tickers', body: wrap(tickers(fake)) }
      default:
        return undefined
    }
  },
}

const present = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  markPrice: String(fake.ticker(coin).last),
  indexPrice: String(fake.ticker(coin).last),
  lastFundingRate: '0.00010000',
  nextFundingTime: fake.nextFunding(coin),
  fundingIntervalHours: fake.fundingHours(coin),
})

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume, turnover } = fake.ticker(coin)
    return {
      symbol: symbolOf(coin),
      priceChange: String(last - open),
      priceChangePercent: `${(100 * (last - open)) / open}%`,
      lastPrice: String(last),
      lastQty: '2.2238',
      highPrice: String(high),
      lowPrice: String(low),
      volume: String(volume),
      quoteVolume: String(turnover),
      openPrice: String(open),
      openTime: fake.now() - 86_400_000,
      closeTime: fake.now(),
      bidPrice: last,
      bidQty: 0.05,
      askPrice: last,
      askQty: 0.05,
    }
  })
