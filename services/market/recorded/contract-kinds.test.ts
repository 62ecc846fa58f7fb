import { rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import {
  candleText,
  hourLines,
  KLINE_HEADER,
  klineLines,
  textOf,
  writeFolder,
} from '../testing/data-folder.ts'
import { createRecordedFeed } from './recorded-feed.ts'

const START = Date.UTC(2025, 5, 1)
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

async function read(files: Record<string, string>) {
  const folder = writeFolder(files)
  folders.push(folder)
  const feed = createRecordedFeed({ folder })
  const listings = await feed.listings()
  const markets = listings.map(({ exchange, coin }) => `${exchange}.${coin}`)
  const volumes = new Set<number>()
  const rates = new Set<number>()
  const series = listings.flatMap(({ exchange, coin, timeframes }) =>
    timeframes.map((timeframe) => ({ exchange, coin, timeframe })),
  )
  for await (const batch of feed.batches({ series, signal: new AbortController().signal })) {
    for (const { candle, series: of } of batch.bars) if (of.timeframe === '1h') volumes.add(candle.volume)
    for (const { funding } of batch.funding) rates.add(funding.rate)
  }
  const ignored = new Map((await feed.ignored()).map(({ name, reason }) => [name, reason]))
  return { markets, listings, volumes: [...volumes], rates: [...rates], ignored }
}

const candles = (count: number, volume = 1.5): string => candleText(hourLines(count, { from: START, volume }))
const rates = (count: number, rate: number): string =>
  textOf(
    Array.from({ length: count }, (_, i) => `${START + i * 8 * HOUR_MS},${rate}`),
    'ts,rate',
  )
const good = { 'binance-usdm/BTCUSDT-1h.csv': candles(10) }

describe('contracts of another kind', () => {
  it.each([
    'binance-coinm/BTCUSD-1h.csv',
    'binance-coinm/BTCUSDT-1h.csv',
    'binance/cm/BTCUSD-1h.csv',
    'binance-usdm/BTCUSD_PERP-1h.csv',
    'binance-usdm/BTCUSD-1h.csv',
    'data/futures/cm/monthly/klines/BTCUSD_PERP/1h/BTCUSD_PERP-1h-2025-06.csv',
    'data/futures/cm/monthly/klines/BTCUSD/1h/BTCUSD-1h-2025-06.csv',
  ])('%s is coin-margined: it is named, and stands in for nothing', async (file) => {
    const { volumes, markets, ignored } = await read({ ...good, [file]: candles(20, 987_654) })
    expect(volumes).toEqual([1.5])
    expect(markets).toEqual(['BINANCE.BTC'])
    expect(ignored.get(file)).toMatch(/coin-margined/)
  })

  it('a contract with a day of delivery is none of the perpetual one', async () => {
    const file = 'data/futures/um/monthly/klines/BTCUSDT_250627/1h/BTCUSDT_250627-1h-2025-06.csv'
    const { volumes, ignored } = await read({ ...good, [file]: candles(20, 7) })
    expect(volumes).toEqual([1.5])
    expect(ignored.get(file)).toMatch(/day of delivery/)
  })
})

describe('prices in something else', () => {
  it.each([
    ['binance-spot/ETHBTC-1h.csv', 'BTC'],
    ['binance-spot/ETHEUR-1h.csv', 'EUR'],
    ['binance-usdm/BTCFDUSD-1h.csv', 'FDUSD'],
    ['binance-usdm/BTCBUSD-1h.csv', 'BUSD'],
    ['bybit-spot/BTCTUSD-1h.csv', 'TUSD'],
    ['okx/SOLETH-1h.csv', 'ETH'],
    ['binance-usdm/ETHBTC-funding.csv', 'BTC'],
  ])('%s, in %s, is no coin', async (file, quote) => {
    const { markets, ignored } = await read({ ...good, [file]: candles(20) })
    expect(markets).toEqual(['BINANCE.BTC'])
    expect(ignored.get(file)).toBe(`its prices are in ${quote}, not in USDT, USDC or USD`)
  })

  it('are no coin in the archive, whatever they are in', async () => {
    const file = 'data/spot/monthly/klines/ETHARS/1h/ETHARS-1h-2025-06.csv'
    const text = textOf(klineLines(20, { from: START }), KLINE_HEADER)
    const { markets, ignored } = await read({ ...good, [file]: text })
    expect(markets).toEqual(['BINANCE.BTC'])
    expect(ignored.get(file)).toMatch(/^its prices are not in/)
  })

  it.each([
    ['binance-usdm/FDUSDUSDT-1h.csv', 'BINANCE.FDUSD'],
    ['binance-usdm/PUMPBTCUSDT-1h.csv', 'BINANCE.PUMPBTC'],
    ['binance-spot/USDCUSDT-1h.csv', 'BINANCE.USDC'],
    ['okx-spot/ETHUSD-1h.csv', 'OKX.ETH'],
    ['hyperliquid/PUMPBTC-1h.csv', 'HL.PUMPBTC'],
    ['bybit/ETH-1h.csv', 'BYBIT.ETH'],
    ['XT/XTUSDT/XTUSDT-1h.csv', 'XT.XT'],
    ['bybit/ASTER/ASTERUSDT-1h.csv', 'BYBIT.ASTER'],
    ['binance/spot/ETHUSDT-1h.csv', 'BINANCE.ETH'],
  ])('%s is %s', async (file, market) => {
    const { markets, ignored } = await read({ [file]: candles(20) })
    expect(markets).toEqual([market])
    expect([...ignored]).toEqual([])
  })
})

describe('one coin in USDT and in USDC', () => {
  it('is the one in USDT, however much longer the other is, and at all timeframes', async () => {
    const { volumes, listings, ignored } = await read({
      ...good,
      'binance-usdm/BTCUSDC-1h.csv': candles(90, 7),
      'binance-usdm/BTCUSDC-2h.csv': candleText(
        hourLines(90, { from: START, volume: 7 }).filter((_, i) => i % 2 === 0),
      ),
    })
    expect(volumes).toEqual([1.5])
    expect(listings).toMatchObject([{ native: [{ timeframe: '1h' }] }])
    expect(ignored.get('binance-usdm/BTCUSDC-1h.csv')).toBe(
      'its prices are in USDC; BINANCE.BTC has those in USDT',
    )
    expect(ignored.has('binance-usdm/BTCUSDC-2h.csv')).toBe(true)
  })

  it('is the one in USDC where there is no other with bars, and has the funding of that contract alone', async () => {
    const {
      volumes,
      rates: paid,
      ignored,
    } = await read({
      'binance-usdm/BTCUSDC-1h.csv': candles(90, 7),
      'binance-usdm/BTCUSDT-1h.csv': candleText([]),
      'binance-usdm/BTCUSDT-funding.csv': rates(9, 0.0009),
      'binance-usdm/BTCUSDC-funding.csv': rates(3, 0.0001),
    })
    expect(volumes).toEqual([7])
    expect(paid).toEqual([0.0001])
    expect(ignored.get('binance-usdm/BTCUSDT-funding.csv')).toMatch(/in USDT; BINANCE.BTC has those in USDC/)
  })

  it('takes a perpetual contract in USDC before spot in USDT', async () => {
    const { volumes } = await read({
      'binance-usdm/BTCUSDC-1h.csv': candles(10, 7),
      'binance-spot/BTCUSDT-1h.csv': candles(90, 8),
    })
    expect(volumes).toEqual([7])
  })

  it('counts a name without a quote as either', async () => {
    const { rates: paid } = await read({ ...good, 'funding/binance-BTC.csv': rates(3, 0.0002) })
    expect(paid).toEqual([0.0002])
  })
})
