import { expect, test } from 'vitest'
import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { MarketFeed } from './feed.ts'
import { openWatchList } from './watch-list.ts'

/** A watch list over venues that rank some coins; `day` lets one pass. */
async function listOn(ranked: Record<string, string[]>, settings: object) {
  const feed = {
    kind: 'live',
    universe: (exchange: string) => {
      const coins = ranked[exchange]?.map((coin) => ({ coin }))
      return coins === undefined
        ? Promise.reject(new ServiceError('venue_unavailable', { message: 'away' }))
        : Promise.resolve({ coins })
    },
  } as unknown as MarketFeed
  const sleeping: { milliseconds: number; wake: () => void }[] = []
  const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve())
      sleeping.push({ milliseconds, wake: resolve })
    })
  const lacking: string[] = []
  const left: string[] = []
  const all = {
    MARKET: 'live',
    EXCHANGES: Object.keys(ranked),
    TIMEFRAMES: ['1h'],
    TOP_COINS: 2,
    ...settings,
  }
  const list = await openWatchList(feed, all as never, sleep, {
    lacking: (exchange, coins) => void lacking.push(`${exchange}: ${coins.join()}`),
    left: (exchange, coins) => void left.push(`${exchange}: ${coins.join()}`),
  })
  const followed: string[] = []
  const ending = new AbortController()
  const running = list.follow<string>((series, until) => {
    const names = series.map(({ exchange, coin }) => `${exchange}.${coin}`).join(' ')
    followed.push(names)
    return new Promise((resolve) =>
      until.addEventListener('abort', () => {
        if (!ending.signal.aborted) followed.push(`ended ${names}`)
        resolve(names)
      }),
    )
  }, ending.signal)
  const settle = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await settle()
  return {
    list,
    lacking,
    left,
    followed,
    day: async () => {
      for (const { milliseconds, wake } of sleeping.splice(0)) if (milliseconds <= DAY_MS) wake()
      await settle()
    },
    end: () => {
      ending.abort()
      return running
    },
  }
}

test('coins that a venue lacks are named, and those it has by the thousand are followed', async () => {
  const { lacking, followed, list, end } = await listOn(
    { BINANCE: ['BTC', '1000PEPE'], HL: ['KPEPE', 'BTC', 'ETH'], OKX: ['PEPE', '1000PEPE'] },
    { COINS: ['BTC', 'PEPE', 'NONE'] },
  )
  expect(followed).toEqual(['BINANCE.BTC BINANCE.1000PEPE', 'HL.BTC HL.KPEPE', 'OKX.PEPE'])
  expect(lacking).toEqual(['BINANCE: NONE', 'HL: NONE', 'OKX: BTC,NONE'])
  expect(list.has({ exchange: 'HL', coin: 'KPEPE', timeframe: '1h' })).toBe(true)
  await end()
})

test('coins are chosen again every day: those that join are followed beside the others', async () => {
  const ranked: Record<string, string[]> = { BINANCE: ['BTC', 'ETH', 'SOL'] }
  const { followed, list, day, end } = await listOn(ranked, {})
  await day()
  ranked['BINANCE'] = ['SOL', 'BTC', 'ETH']
  await day()
  delete ranked['BINANCE']
  await day()
  expect(followed).toEqual(['BINANCE.BTC BINANCE.ETH', 'BINANCE.SOL'])
  expect(list.series().map(({ coin }) => coin)).toEqual(['BTC', 'ETH', 'SOL'])
  expect(await end()).toEqual(['BINANCE.BTC BINANCE.ETH', 'BINANCE.SOL'])
})

test('coins that left the largest are told and followed on; once they are as many, the venue begins anew', async () => {
  const ranked: Record<string, string[]> = { BINANCE: ['BTC', 'ETH', 'SOL', 'XRP'], HL: ['BTC', 'HYPE'] }
  const { followed, left, list, day, end } = await listOn(ranked, {})
  const has = (coin: string): boolean => list.has({ exchange: 'BINANCE', coin, timeframe: '1h' })
  ranked['BINANCE'] = ['BTC', 'SOL', 'ETH']
  await day()
  await day()
  expect([left, has('ETH')]).toEqual([['BINANCE: ETH'], true])
  ranked['BINANCE'] = ['XRP', 'BTC']
  await day()
  expect(followed).toEqual([
    'BINANCE.BTC BINANCE.ETH',
    'HL.BTC HL.HYPE',
    'BINANCE.SOL',
    'ended BINANCE.BTC BINANCE.ETH',
    'ended BINANCE.SOL',
    'BINANCE.XRP BINANCE.BTC',
  ])
  expect(list.series().map(({ exchange, coin }) => `${exchange}.${coin}`)).toEqual([
    'HL.BTC',
    'HL.HYPE',
    'BINANCE.XRP',
    'BINANCE.BTC',
  ])
  expect([has('ETH'), has('SOL'), has('BTC')]).toEqual([false, false, true])
  await end()
})

test('a coin that its venue renamed is followed under the new name by itself, and the old one goes on until it is gone', async () => {
  const ranked: Record<string, string[]> = { BINANCE: ['BTC', 'MATIC'], OKX: ['POL', 'BTC'] }
  const { followed, lacking, list, day, end } = await listOn(ranked, { COINS: ['BTC', 'MATIC'] })
  ranked['BINANCE'] = ['BTC', 'POL']
  await day()
  ranked['BINANCE'] = ['BTC']
  await day()
  expect(followed).toEqual(['BINANCE.BTC BINANCE.MATIC', 'OKX.BTC OKX.POL', 'BINANCE.POL'])
  expect(lacking).toEqual(['BINANCE: MATIC'])
  expect(list.has({ exchange: 'BINANCE', coin: 'MATIC', timeframe: '1h' })).toBe(true)
  await end()
})

test('a venue that is away is asked again, and its coins may come', async () => {
  const ranked: Record<string, string[]> = { BINANCE: ['BTC'] }
  const bench = await listOn(ranked, { EXCHANGES: ['BINANCE', 'OKX'], COINS: ['PEPE', 'BTC'] })
  const { list } = bench
  const asked = { exchange: 'OKX', coin: '1000PEPE', timeframe: '1h' } as const
  expect([list.mayHave(asked), list.has(asked), list.pending()]).toEqual([true, false, ['OKX']])
  ranked['OKX'] = ['1000PEPE']
  await bench.day()
  expect([list.mayHave(asked), list.has(asked), list.pending()]).toEqual([false, true, []])
  await bench.end()
})
