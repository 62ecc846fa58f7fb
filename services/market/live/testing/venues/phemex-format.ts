import type { Coin } from '../../../../../contracts/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../../../../contracts/timeframes.ts'
import type { FakeMarket } from '../fake-market.ts'
import { BY_HAND, coinNamed, newestFirst, type VenueFormat } from '../venue-format.ts'

const symbolOf = (coin: Coin): string => `${coin}USDT`
const fundingSymbolOf = (coin: Coin): string => `.${coin}USDTFR8H`
const wrap = (data: unknown) => ({ code: 0, msg: 'OK', data })
const unknown = { code: 6_001, msg: 'invalid argument', data: null }

const market = (coin: Coin, fake: FakeMarket) => ({
  symbol: symbolOf(coin),
  code: 41_541,
  type: 'PerpetualV2',
  displaySymbol: `${coin} / USDT`,
  indexSymbol: `.${coin}USDT`,
  markSymbol: `.M${coin}USDT`,
  fundingRateSymbol: `.${coin}USDTFR`,
  fundingRate8hSymbol: fundingSymbolOf(coin),
  contractUnderlyingAssets: coin,
  settleCurrency: 'USDT',
  quoteCurrency: 'USDT',
  tickSize: '0.1',
  priceScale: 0,
  ratioScale: 0,
  pricePrecision: 1,
  baseCurrency: coin,
  status: 'Listed',
  listTime: 1_668_225_600_000,
  fundingInterval: fake.fundingHours(coin) * 3_600,
  maxLeverage: 100,
  maxOrderQtyRq: '1000',
  qtyPrecision: 3,
  qtyStepSize: '0.001',
})

export const phemexFormat: VenueFormat = {
  exchange: 'PHEMEX',
  source: BY_HAND,
  answer({ path, query }, fake) {
    switch (path) {
      case '/public/products': {
        const perpProductsV2 = fake.coins().map((coin) => market(coin, fake))
        return {
          route: 'markets',
          body: wrap({ currencies: [], products: [], perpProductsV2, riskLimits: [] }),
        }
      }
      case '/v1/exchange/public/products':
        return { route: 'markets', body: wrap([]) }
      case '/exchange/public/md/v2/kline/list': {
        const coin = coinNamed(fake, symbolOf, query['symbol'])
        if (coin === undefined) return { route: 'candles', body: unknown }
        const seconds = Number(query['resolution'])
        const timeframe = TIMEFRAMES.find((one) => timeframeMs(one) === seconds * 1_000) ?? '1m'
        const found = fake.candles(coin, timeframe, {
          limit: Math.min(2_000, Number(query['limit'] ?? 1_000)),
          keep: 'last',
          from: Number(query['from']) * 1_000,
          to: Number(query['to']) * 1_000,
        })
        const rows = found.map(({ openTime, open, high, low, close, volume }) => [
          openTime / 1_000,
          seconds,
          String(open),
          String(open),
          String(high),
          String(low),
          String(close),
          String(volume),
          String(volume * close),
          query['symbol'],
        ])
        return { route: 'candles', body: wrap({ total: -1, rows }) }
      }
      case '/api-data/public/data/funding-rate-history': {
        const coin = coinNamed(fake, fundingSymbolOf, query['symbol'])
        if (coin === undefined) return { route: 'funding', body: unknown }
        const rates = fake.funding(coin, Number(query['start'] ?? 0), Number(query['end'] ?? fake.now()))
        const rows = newestFirst(rates, Math.min(100, Number(query['limit'] ?? 100))).map(
          ({ time, rate, intervalHours }) => ({
            symbol: query['symbol'],
            fundingRate: String(rate),
            fundingTime: time,
            intervalSeconds: intervalHours * 3_600,
          }),
        )
        return { route: 'funding', body: wrap({ rows }) }
      }
      case '/md/v2/ticker/24hr/all':
        return { route: 'tickers', body: { error: null, id: 0, result: tickers(fake) } }
      default:
        return undefined
    }
  },
}

const tickers = (fake: FakeMarket) =>
  fake.coins().map((coin) => {
    const { last, open, high, low, volume, turnover, openInterest } = fake.ticker(coin)
    return {
      closeRp: String(last),
      fundingRateRr: '0.0001',
      highRp: String(high),
      indexPriceRp: String(last),
      lowRp: String(low),
      markPriceRp: String(last),
      openInterestRv: String(openInterest),
      openRp: String(open),
      predFundingRateRr: '0.0001',
      symbol: symbolOf(coin),
      timestamp: fake.now() * 1_000_000,
      turnoverRv: String(turnover),
      volumeRq: String(volume),
    }
  })
