import { describe, expect, test } from 'vitest'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import {
  HOUR_MS,
  MINUTE_MS,
  TIMEFRAMES,
  type Timeframe,
  timeframeMs,
} from '../../../contracts/domain/timeframes.ts'
import { type LiveBench, NOON, START, startLiveBench, unbroken } from './testing/live-bench.ts'
import type { Route } from './testing/venue-format.ts'
import type { LiveExchange } from './venues.ts'

/** Bars of some series as they came, and those that did not open after the one before. */
function createSequence() {
  const opens = new Map<string, number[]>()
  const outOfOrder: string[] = []
  return {
    outOfOrder,
    opens: (series: Series): readonly number[] => opens.get(seriesName(series)) ?? [],
    take: ({ bars }: BarBatch): void => {
      for (const { series, candle } of bars) {
        const name = seriesName(series)
        const own = opens.get(name) ?? []
        const before = own.at(-1) ?? -1
        if (candle.openTime <= before) outOfOrder.push(`${name}: ${candle.openTime} behind ${before}`)
        own.push(candle.openTime)
        opens.set(name, own)
      }
    },
  }
}

const lastClose = (timeframe: Timeframe, instant: number): number =>
  Math.floor(instant / timeframeMs(timeframe)) * timeframeMs(timeframe)

const healAfter = (bench: LiveBench, exchange: LiveExchange, minutes: number): void =>
  void bench.clock
    .sleep(minutes * MINUTE_MS, new AbortController().signal)
    .then(() => bench.venue(exchange).heal())

describe('the past of a series that comes late is told before what closed meanwhile', () => {
  test.each<[LiveExchange, number, readonly Route[]]>([
    ['BINANCE', 2, ['candles']],
    ['OKX', 6, ['candles']],
    ['HL', 20, ['candles']],
    ['OKX', 7, ['markets', 'candles', 'funding']],
  ])('%s, away for %d minutes from the start: %j', async (exchange, minutes, routes) => {
    const coins = ['BTC', 'ETH']
    await using bench = await startLiveBench({ exchanges: [exchange], coins, historyBars: 500 })
    for (const route of routes) bench.venue(exchange).fail(route, { kind: 'status', status: 503 })
    healAfter(bench, exchange, minutes)
    const series = coins.flatMap((coin) =>
      TIMEFRAMES.map((timeframe): Series => ({ exchange, coin, timeframe })),
    )
    const sequence = createSequence()
    const end = NOON + 50 * MINUTE_MS
    await bench.collect({ series }, (batch) => {
      sequence.take(batch)
      return batch.at >= end && batch.isLate === undefined
    })
    expect(sequence.outOfOrder).toEqual([])
    for (const one of series) {
      const last = lastClose(one.timeframe, end)
      const count = 500 + (last - lastClose(one.timeframe, NOON)) / timeframeMs(one.timeframe)
      expect(sequence.opens(one), seriesName(one)).toEqual(unbroken(one.timeframe, count, last))
    }
  })

  test('one page of one coin is enough, and holds up its own series only', async () => {
    await using bench = await startLiveBench({
      exchanges: ['BINANCE'],
      coins: ['BTC', 'ETH'],
      historyBars: 520,
    })
    bench
      .venue('BINANCE')
      .fail(
        'candles',
        { kind: 'status', status: 400, text: '{"code":-1000,"msg":"An unknown error occurred"}' },
        Number.POSITIVE_INFINITY,
        ({ query }) => query['symbol'] === 'ETHUSDT' && query['interval'] === '5m',
      )
    healAfter(bench, 'BINANCE', 12)
    const series = ['BTC', 'ETH'].flatMap((coin) =>
      (['1m', '5m', '15m', '1h'] as const).map(
        (timeframe): Series => ({ exchange: 'BINANCE', coin, timeframe }),
      ),
    )
    const sequence = createSequence()
    const late = new Set<string>()
    await bench.collect({ series }, (batch) => {
      sequence.take(batch)
      if (batch.isLate === true && batch.at > NOON)
        for (const bar of batch.bars) late.add(seriesName(bar.series))
      return batch.at >= NOON + 30 * MINUTE_MS && batch.isLate === undefined
    })
    expect(sequence.outOfOrder).toEqual([])
    expect([...late]).toContain('BINANCE.ETH.5m')
    expect([...late].filter((name) => name.includes('BTC'))).toEqual([])
    expect(sequence.opens(series[5] as Series)).toEqual(unbroken('5m', 526, NOON + 30 * MINUTE_MS))
  })

  test('a past that the venue refuses for good is done without: its series begin at the seam', async () => {
    await using bench = await startLiveBench({ exchanges: ['BINANCE'], historyBars: 20 })
    const text = '{"code":-1130,"msg":"Data sent for parameter startTime is not valid."}'
    bench
      .venue('BINANCE')
      .fail(
        'candles',
        { kind: 'status', status: 400, text },
        Number.POSITIVE_INFINITY,
        ({ query }) => query['interval'] === '5m',
      )
    const series: Series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '5m' }
    const sequence = createSequence()
    await bench.collect({ series: [series] }, (batch) => {
      sequence.take(batch)
      return batch.at >= NOON + 30 * MINUTE_MS && batch.isLate === undefined
    })
    expect(sequence.opens(series)).toEqual(unbroken('5m', 6, NOON + 30 * MINUTE_MS))
    expect(bench.notices.map(({ message }) => message)).toContain(
      'BINANCE.BTC.5m: its history cannot be loaded; its verdicts begin with live bars',
    )
  })
})

test('a bar at the changeover is told although nothing was traded before it and at its beginning', async () => {
  const missing = new Set([-8, -7, -6, -5, -4, -3, -2, -1, 0].map((minute) => NOON + minute * MINUTE_MS))
  await using bench = await startLiveBench({
    exchanges: ['KUCOIN'],
    start: START + 2 * MINUTE_MS,
    historyBars: 10,
    isMissing: (_coin, openTime) => missing.has(openTime),
  })
  const series: Series = { exchange: 'KUCOIN', coin: 'BTC', timeframe: '5m' }
  const sequence = createSequence()
  await bench.collect({ series: [series] }, (batch) => {
    sequence.take(batch)
    return batch.at >= NOON + 10 * MINUTE_MS
  })
  expect(sequence.opens(series)).toEqual(unbroken('5m', 12, NOON + 10 * MINUTE_MS))
})

describe('listings change', () => {
  test('a coin that is suspended in one list, or missing from one, goes on as if nothing had been', async () => {
    await using bench = await startLiveBench({
      exchanges: ['BINANCE'],
      coins: ['BTC', 'ETH', 'SOL'],
      historyBars: 5,
    })
    const venue = bench.venue('BINANCE')
    const list = (await (await fetch(`${venue.url}/fapi/v1/exchangeInfo`)).json()) as {
      symbols: { symbol: string; status: string; contractStatus?: string }[]
    }
    const symbols = list.symbols
      .filter(({ symbol }) => symbol !== 'SOLUSDT')
      .map((one) => (one.symbol === 'ETHUSDT' ? { ...one, status: 'PENDING_TRADING' } : one))
    const series = ['BTC', 'ETH', 'SOL'].map(
      (coin): Series => ({ exchange: 'BINANCE', coin, timeframe: '1h' }),
    )
    const sequence = createSequence()
    let isArmed = false
    await bench.collect({ series }, (batch) => {
      if (!isArmed) venue.fail('markets', { kind: 'instead', text: JSON.stringify({ ...list, symbols }) }, 1)
      isArmed = true
      sequence.take(batch)
      return batch.at >= NOON + 5 * HOUR_MS && batch.isLate === undefined
    })
    for (const one of series) expect(sequence.opens(one)).toEqual(unbroken('1h', 10, NOON + 5 * HOUR_MS))
    expect(bench.notices).toEqual([])
  })

  test('a coin that comes back after hours or days is followed again by itself, and is gone only in between', async () => {
    await using bench = await startLiveBench({ exchanges: ['BYBIT'], coins: ['BTC', 'ETH'], historyBars: 5 })
    const { market } = bench.venue('BYBIT')
    const [stays, goes] = ['BTC', 'ETH'].map((coin): Series => ({ exchange: 'BYBIT', coin, timeframe: '1h' }))
    const sequence = createSequence()
    const gone = new Set<number>()
    await bench.collect({ series: [stays as Series, goes as Series] }, (batch) => {
      const hour = (batch.at - NOON) / HOUR_MS
      if (hour === 2 || hour === 10) market.delist('ETH')
      if (hour === 6 || hour === 44) market.list('ETH')
      if (bench.feed.isGone(goes as Series)) gone.add(hour)
      sequence.take(batch)
      return hour >= 48 && batch.isLate === undefined
    })
    expect(sequence.opens(stays as Series)).toEqual(unbroken('1h', 53, NOON + 48 * HOUR_MS))
    // The venue has the bars of the hours in which it did not list the coin.
    expect(sequence.opens(goes as Series)).toEqual(unbroken('1h', 53, NOON + 48 * HOUR_MS))
    expect([Math.min(...gone), Math.max(...gone)]).toEqual([35, 44])
    expect(bench.notices.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'BYBIT.ETH.1h: ended, because the venue has not listed it for a day, and sent no bar',
        'BYBIT.ETH.1h: goes on, because the venue lists it again',
      ]),
    )
  })
})
