import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { RECORDED_DATA } from '../testing/recorded-data.ts'
import { startLiveBench } from './testing/live-bench.ts'
import { listAlso, never, withVenue } from './testing/with-venue.ts'
import type { Venue } from './venue.ts'
import type { LiveExchange } from './venues.ts'

const RECORDED = `${RECORDED_DATA}/venue-responses/bybit/http_get_instruments_linear_symbol_type.json`

type Row = Readonly<Record<string, unknown>>

interface Case {
  readonly exchange: LiveExchange
  /** The address of its list of contracts. */
  readonly path: string
  /** A contract of that name, as far as its row names it. */
  readonly named: (coin: string) => Row
  /** Rows of coins and of others, with what they mean. */
  readonly coins: readonly Row[]
  readonly others: readonly (readonly [Row, string])[]
}

const usdt = (coin: string) => ({ symbol: `${coin}USDT`, pair: `${coin}USDT`, baseAsset: coin })

const CASES: readonly Case[] = [
  {
    exchange: 'BINANCE',
    path: '/fapi/v1/exchangeInfo',
    named: (coin) => ({ ...usdt(coin), contractType: 'PERPETUAL' }),
    coins: [{ underlyingType: 'COIN' }, {}],
    others: [
      [{ contractType: 'TRADIFI_PERPETUAL', underlyingType: 'EQUITY' }, 'a share'],
      [{ contractType: 'TRADIFI_PERPETUAL', underlyingType: 'KR_EQUITY' }, 'a share'],
      [{ contractType: 'TRADIFI_PERPETUAL', underlyingType: 'COMMODITY' }, 'a commodity'],
      [{ contractType: 'TRADIFI_PERPETUAL' }, 'no coin'],
      [{ underlyingType: 'INDEX' }, 'an index'],
    ],
  },
  {
    exchange: 'BYBIT',
    path: '/v5/market/instruments-info?category=linear',
    named: (coin) => ({ symbol: `${coin}USDT`, baseCoin: coin }),
    coins: [{}, { symbolType: '' }, { symbolType: 'innovation' }, { symbolType: 'adventure' }],
    others: [
      [{ symbolType: 'stock' }, 'a share'],
      [{ symbolType: 'commodity' }, 'a commodity'],
      [{ symbolType: 'forex' }, 'a currency'],
      [{ symbolType: 'weather' }, 'no coin'],
    ],
  },
  {
    exchange: 'OKX',
    path: '/api/v5/public/instruments?instType=SWAP',
    named: (coin) => ({
      instId: `${coin}-USDT-SWAP`,
      uly: `${coin}-USDT`,
      instFamily: `${coin}-USDT`,
      ctValCcy: coin,
      settleCcy: 'USDT',
      ctType: 'linear',
    }),
    coins: [{}, { instCategory: '' }, { instCategory: '1' }],
    others: [
      [{ instCategory: '3' }, 'a share'],
      [{ instCategory: '4' }, 'a commodity'],
      [{ instCategory: '5' }, 'a currency'],
      [{ instCategory: '6' }, 'a bond'],
    ],
  },
  {
    exchange: 'BITGET',
    path: '/api/v2/mix/market/contracts?productType=USDT-FUTURES',
    named: (coin) => ({ symbol: `${coin}USDT`, baseCoin: coin }),
    coins: [{}, { isRwa: 'NO' }],
    others: [[{ isRwa: 'YES' }, 'no coin']],
  },
  {
    exchange: 'GATE',
    path: '/api/v4/futures/usdt/contracts',
    named: (coin) => ({ name: `${coin}_USDT` }),
    coins: [{}, { contract_type: '' }, { contract_type: 'crypto' }],
    others: [
      [{ contract_type: 'stocks' }, 'a share'],
      [{ contract_type: 'metals' }, 'a commodity'],
      [{ contract_type: 'indices' }, 'an index'],
    ],
  },
  {
    exchange: 'KUCOIN',
    path: '/api/v1/contracts/active',
    named: (coin) => ({ symbol: `${coin}USDTM`, baseCurrency: coin }),
    coins: [{}, { assetClass: 'CRYPTO', marketType: 'CRYPTO' }],
    others: [
      [{ assetClass: 'STOCK' }, 'a share'],
      // It calls the market of metals one of coins.
      [{ assetClass: 'METAL', marketType: 'CRYPTO' }, 'a commodity'],
    ],
  },
  {
    exchange: 'MEXC',
    path: '/api/v1/contract/detail',
    named: (coin) => ({ symbol: `${coin}_USDT`, baseCoin: coin }),
    coins: [{}, { conceptPlate: ['mc-trade-zone-RWA', 'mc-trade-zone-metaverse'], type: 1 }],
    others: [
      [{ conceptPlate: ['mc-trade-zone-Stock', 'mc-trade-zone-tradfi'] }, 'a share'],
      [{ conceptPlate: ['mc-trade-zone-tradfi', 'mc-trade-zone-metals'] }, 'a commodity'],
      [{ conceptPlate: [], type: 2 }, 'no coin'],
    ],
  },
  {
    exchange: 'BINGX',
    path: '/openApi/swap/v2/quote/contracts',
    named: (coin) => ({ symbol: `${coin}-USDT`, asset: coin }),
    coins: [{}, { symbol: 'NCT-USDT', asset: 'NCT' }],
    others: [
      [{ symbol: 'NCSKTSLA2USD-USDT', asset: 'NCSKTSLA2USD' }, 'a share'],
      [{ symbol: 'NCCOGOLD2USD-USDT', asset: 'NCCOGOLD2USD' }, 'a commodity'],
      [{ symbol: 'NCSISP5002USD-USDT', asset: 'NCSISP5002USD' }, 'an index'],
    ],
  },
  {
    exchange: 'HTX',
    path: '/linear-swap-api/v1/swap_contract_info',
    named: (coin) => ({ symbol: coin, contract_code: `${coin}-USDT`, pair: `${coin}-USDT` }),
    coins: [{}, { labels: ['hot', 'common'], tradfi_labels: [] }],
    others: [
      [{ tradfi_labels: ['Stocks'], labels: ['tradfi'] }, 'a share'],
      [{ tradfi_labels: [], labels: ['stock'] }, 'a share'],
      [{ tradfi_labels: ['Metals'] }, 'a commodity'],
    ],
  },
  {
    exchange: 'PHEMEX',
    path: '/public/products',
    named: (coin) => ({
      symbol: `${coin}USDT`,
      displaySymbol: `${coin} / USDT`,
      indexSymbol: `.${coin}USDT`,
      baseCurrency: coin,
      contractUnderlyingAssets: coin,
    }),
    coins: [{}, { perpProductSubType: 'Normal' }],
    others: [
      [{ perpProductSubType: 'TradFi' }, 'no coin'],
      [{ perpProductSubType: 'PreMarket' }, 'not traded on a market yet'],
    ],
  },
  {
    exchange: 'ASTER',
    path: '/fapi/v3/exchangeInfo',
    named: usdt,
    coins: [{}, { underlyingType: 'COIN', underlyingSubType: ['AI', 'Layer-1'], symbolType: 0 }],
    others: [
      [{ underlyingType: 'COIN', underlyingSubType: ['STOCK'], symbolType: 1 }, 'a share'],
      [{ underlyingSubType: ['Commodities'] }, 'a commodity'],
      [{ underlyingSubType: [], symbolType: 1 }, 'no coin'],
    ],
  },
  {
    exchange: 'WHITEBIT',
    path: '/api/v4/public/markets',
    named: (coin) => ({ name: `${coin}_PERP`, stock: coin, type: 'futures' }),
    coins: [{}, { isTradFiFutures: false }],
    others: [
      [{ type: 'tradfiFutures', isTradFiFutures: true }, 'no coin'],
      [{ type: 'tradfiFutures' }, 'no coin'],
    ],
  },
  {
    exchange: 'XT',
    path: '/future/market/v1/public/symbol/list',
    named: (coin) => ({
      symbol: `${coin.toLowerCase()}_usdt`,
      pair: `${coin.toLowerCase()}_usdt`,
      baseCoin: coin.toLowerCase(),
    }),
    // The fake venue names its plates: 1 Layer 1, 2 TradFi, 3 Tokenized Stocks, 4 FOREX.
    coins: [{}, { plates: [1] }],
    others: [
      [{ plates: [2, 3] }, 'a share'],
      [{ plates: [4] }, 'a currency'],
      [{ plates: [1, 2] }, 'no coin'],
    ],
  },
]

const NAMES = ['AAA', 'BBB', 'CCC', 'DDD', 'EEE', 'FFF', 'GGG', 'HHH', 'III']

/** The rows of some contracts, with a name of its own for each that does not name itself. */
function rowsOf(
  { named }: Case,
  contracts: readonly Row[],
  from: number,
): readonly (readonly [string, Row])[] {
  return contracts.map((row, at) => {
    const name = (row['asset'] as string | undefined) ?? String(NAMES[from + at])
    return [name, { ...named(name), ...row }]
  })
}

const coinsOf = async (venue: Venue): Promise<string[]> =>
  [...(await venue.markets(0, never)).keys()].toSorted()

describe('contracts that are not of coins', () => {
  test.each(CASES)('$exchange lists coins alone, and says what the others are', async (one) => {
    const coins = rowsOf(one, one.coins, 0)
    const others = rowsOf(
      one,
      one.others.map(([row]) => row),
      coins.length,
    )
    const [listed, kinds] = await withVenue(one.exchange, async (venue, bench) => {
      await listAlso(
        bench,
        one.exchange,
        one.path,
        [...coins, ...others].map(([, row]) => row),
      )
      return [await coinsOf(venue), others.map(([name]) => venue.otherAsset(name)?.kind)] as const
    })
    expect(listed).toEqual(['BTC', 'ETH', ...coins.map(([name]) => name)].toSorted())
    expect(kinds).toEqual(one.others.map(([, kind]) => kind))
  })

  test('a list whose groups XT does not name is not taken: a share could be among them', async () => {
    await withVenue('XT', async (venue, bench) => {
      const isGroups = ({ path }: { path: string }) => path.endsWith('/plate/list')
      bench
        .venue('XT')
        .fail('markets', { kind: 'instead', text: '{"returnCode":0,"result":null}' }, 1, isGroups)
      await expect(venue.markets(0, never)).rejects.toThrow('plate')
      expect(await coinsOf(venue)).toEqual(['BTC', 'ETH'])
    })
  })
})

test('who asks for the bars of a share is told that it is one', async () => {
  await using bench = await startLiveBench({ exchanges: ['BYBIT'] })
  await listAlso(bench, 'BYBIT', '/v5/market/instruments-info?category=linear', [
    { symbol: 'TSLAUSDT', baseCoin: 'TSLA', symbolType: 'stock' },
  ])
  const asked = (coin: string) =>
    bench.collect({ series: [{ exchange: 'BYBIT', coin, timeframe: '1h' }] }, () => true)
  await expect(asked('TSLA')).rejects.toThrow(
    'BYBIT.TSLA.1h cannot be followed: the contract of TSLA on BYBIT is a share (the venue states symbolType stock); only coins are followed',
  )
  await expect(asked('NONE')).rejects.toThrow('BYBIT lists no perpetual contract of NONE')
  expect((await bench.feed.listings()).map(({ coin }) => coin)).toEqual(['BTC'])
  const { coins } = await bench.clock.runUntil(bench.feed.universe('BYBIT'))
  expect(coins.map(({ coin }) => coin)).toEqual(['BTC'])
})

test.skipIf(!existsSync(RECORDED))('a recorded answer of BYBIT with a share lists no coin', async () => {
  const text = await readFile(RECORDED, 'utf8')
  await withVenue('BYBIT', async (venue, bench) => {
    bench.venue('BYBIT').fail('markets', { kind: 'instead', text })
    await expect(venue.markets(0, never)).rejects.toThrow(
      'none a traded perpetual contract of a coin in USDT',
    )
    expect(venue.otherAsset('TSLA')).toEqual({ kind: 'a share', stated: 'symbolType stock' })
  })
})
