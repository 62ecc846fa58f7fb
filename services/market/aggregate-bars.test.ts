import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Candle } from '../../contracts/domain/candle.ts'
import type { ClosedBar } from '../../contracts/domain/feed.ts'
import { HOUR_MS, MINUTE_MS, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { BarAggregator } from './aggregate-bars.ts'
import { isDataAbsent, readCandles, toRow, whenPresent } from './testing/recorded-data.ts'

const series = (timeframe: Timeframe, coin = 'BTC') => ({ exchange: 'BINANCE', coin, timeframe }) as const

/** Walks through base bars as a feed does. */
function aggregate(
  bars: readonly Candle[],
  base: Timeframe,
  target: Timeframe,
  notBefore?: number,
): Candle[] {
  const aggregator = new BarAggregator()
  const source = aggregator.add({
    series: series(target),
    base,
    ...(notBefore === undefined ? {} : { notBefore }),
  })
  const closed: ClosedBar[] = []
  for (const bar of bars) {
    const at = bar.openTime + timeframeMs(base)
    for (let due = aggregator.overdue(at); due !== undefined; due = aggregator.overdue(at)) {
      closed.push(...aggregator.close(due))
    }
    aggregator.push(source, toRow(bar), 0)
    closed.push(...aggregator.close(at))
  }
  return closed.map(({ candle }) => candle)
}

const minute = (index: number, close = 100, volume = 1): Candle => ({
  openTime: index * MINUTE_MS,
  open: 100,
  high: Math.max(100, close),
  low: Math.min(100, close),
  close,
  volume,
})

describe('BarAggregator', () => {
  it('makes a bar of open, extremes, close and the sum of volumes', () => {
    const bars = [minute(0, 103, 2), minute(1, 96, 3), minute(2, 101, 4)]
    expect(aggregate(bars, '1m', '3m')).toEqual([
      { openTime: 0, open: 100, high: 103, low: 96, close: 101, volume: 9 },
    ])
  })

  it('leaves out the bucket that began before the first base bar', () => {
    const bars = [1, 2, 3, 4, 5].map((index) => minute(index))
    expect(aggregate(bars, '1m', '3m').map(({ openTime }) => openTime)).toEqual([3 * MINUTE_MS])
  })

  it.each([
    ['4h of one hour before a hole', '1h', '4h', [0, 100, 101, 102, 103, 104], [100]],
    ['4h of one hour after a hole', '1h', '4h', [0, 1, 2, 3, 103, 104, 105, 106, 107], [0, 104]],
    [
      'a day of two hours',
      '1h',
      '1d',
      [0, 1, 100, ...Array.from({ length: 20 }, (_, hour) => 124 + hour)],
      [120],
    ],
    ['4h of twenty minutes', '1m', '4h', Array.from({ length: 20 }, (_, at) => at), []],
  ] as const)('leaves out %s', (_, base, target, opens, made) => {
    const bars = opens.map((open) => ({ ...minute(0), openTime: open * timeframeMs(base) }))
    const whole = aggregate(bars, base, target, 0).map(({ openTime }) => openTime / timeframeMs(base))
    expect(whole.filter((open) => open !== 0 || made.includes(0 as never))).toEqual(made)
  })

  it('keeps a bar of a thin market, of which no long part is missing', () => {
    const bars = [0, 9, 14, 31, 44, 61].map((index) => minute(index))
    expect(aggregate(bars, '1m', '1h', 0)).toHaveLength(1)
    const halves = [0, 1, 4].map((hour) => ({ ...minute(0), openTime: hour * HOUR_MS }))
    expect(aggregate(halves, '1h', '4h', 0)).toHaveLength(1)
  })

  it('keeps a whole bucket whose own first base bar is missing', () => {
    const bars = [2, 4, 5].map((index) => minute(index))
    expect(aggregate(bars, '1m', '3m')).toEqual([
      { openTime: 3 * MINUTE_MS, open: 100, high: 100, low: 100, close: 100, volume: 2 },
    ])
  })

  it('closes a bucket whose last base bar is missing at its own close, once later bars show it passed', () => {
    const aggregator = new BarAggregator()
    const source = aggregator.add({ series: series('3m'), base: '1m' })
    aggregator.push(source, toRow(minute(0)), 0)
    expect(aggregator.close(MINUTE_MS)).toEqual([])
    expect(aggregator.overdue(3 * MINUTE_MS)).toBeUndefined()
    expect(aggregator.overdue(5 * MINUTE_MS)).toBe(3 * MINUTE_MS)
    expect(aggregator.close(3 * MINUTE_MS).map(({ candle }) => candle.openTime)).toEqual([0])
    expect(aggregator.overdue(5 * MINUTE_MS)).toBeUndefined()
  })

  it('leaves a bucket without base bars missing', () => {
    const bars = [0, 1, 2, 6, 7, 8].map((index) => minute(index))
    expect(aggregate(bars, '1m', '3m').map(({ openTime }) => openTime)).toEqual([0, 6 * MINUTE_MS])
  })

  it('does not close what is still running at the end', () => {
    expect(
      aggregate(
        [0, 1, 2, 3, 4].map((index) => minute(index)),
        '1m',
        '3m',
      ),
    ).toHaveLength(1)
  })

  it('leaves out bars before a given instant', () => {
    const bars = Array.from({ length: 9 }, (_, index) => minute(index))
    expect(aggregate(bars, '1m', '3m', 3 * MINUTE_MS).map(({ openTime }) => openTime)).toEqual([
      3 * MINUTE_MS,
      6 * MINUTE_MS,
    ])
  })

  it('orders bars by timeframe, then by name, however the series were added', () => {
    const aggregator = new BarAggregator()
    for (const coin of ['SOL', 'BTC', 'ETH']) {
      for (const timeframe of ['1h', '1m', '30m'] as const) {
        aggregator.add({ series: series(timeframe, coin), base: '1m' })
      }
    }
    const names: string[] = []
    for (let index = 0; index < 60; index++) {
      for (const source of [0, 1, 2]) aggregator.push(source, toRow(minute(index)), 0)
      const bars = aggregator.close((index + 1) * MINUTE_MS)
      if (index === 59) names.push(...bars.map((bar) => `${bar.series.timeframe} ${bar.series.coin}`))
    }
    expect(names).toEqual([
      '1m BTC',
      '1m ETH',
      '1m SOL',
      '30m BTC',
      '30m ETH',
      '30m SOL',
      '1h BTC',
      '1h ETH',
      '1h SOL',
    ])
  })

  it('holds more series than its first slab, each on its own', () => {
    const aggregator = new BarAggregator()
    const sources = Array.from({ length: 300 }, (_, index) =>
      aggregator.add({ series: series('1m', `C${index}`), base: '1m' }),
    )
    for (const source of sources) aggregator.push(source, toRow(minute(0, 100 + source)), 0)
    const closes = new Map(aggregator.close(MINUTE_MS).map((bar) => [bar.series.coin, bar.candle.close]))
    expect(closes.size).toBe(300)
    expect(sources.every((source, index) => closes.get(`C${index}`) === 100 + source)).toBe(true)
  })

  it('refuses a base that does not divide, the same series twice, and a bar that comes too late', () => {
    const aggregator = new BarAggregator()
    expect(() => aggregator.add({ series: series('5m'), base: '3m' })).toThrow('cannot be made from 3m')
    const source = aggregator.add({ series: series('5m'), base: '1m' })
    expect(() => aggregator.add({ series: series('5m'), base: '1m' })).toThrow('added before')
    aggregator.push(source, toRow(minute(0)), 0)
    expect(() => aggregator.push(source, toRow(minute(5)), 0)).toThrow('BINANCE.BTC.5m')
  })

  it('makes the same in two steps as in one, to the last bit', () => {
    const gap = fc.integer({ min: 1, max: 40 })
    const bar = fc.record({
      gap: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: gap }),
      close: fc.double({ min: 50, max: 200, noNaN: true }),
      volume: fc.oneof(
        fc.nat(10_000_000).map((thousandths) => thousandths / 1_000),
        fc.nat(1_000_000_000).map((tenths) => tenths / 10),
      ),
    })
    const chain = fc.constantFrom(
      ['1m', '5m', '15m'] as const,
      ['1m', '3m', '30m'] as const,
      ['1m', '15m', '1h'] as const,
      ['1h', '2h', '8h'] as const,
      ['1h', '4h', '1d'] as const,
    )
    fc.assert(
      fc.property(fc.array(bar, { minLength: 1, maxLength: 300 }), chain, (steps, [base, middle, target]) => {
        let index = 0
        const bars = steps.map(({ gap: distance, close, volume }): Candle => {
          const candle = minute(index, close, volume)
          // A hole of hours leaves out bars, and of a bar that is left out a longer one knows nothing.
          index += base === '1h' ? Math.min(distance, 2) : distance
          return { ...candle, openTime: (candle.openTime / MINUTE_MS) * timeframeMs(base) }
        })
        const twice = aggregate(aggregate(bars, base, middle), middle, target)
        expect(twice).toEqual(aggregate(bars, base, target).slice(0, twice.length))
      }),
      { numRuns: 200 },
    )
  })
})

describe.skipIf(isDataAbsent)(`aggregation of recorded bars${whenPresent}`, () => {
  it.each(['BTC', 'ETH', 'SOL'])('4h of %s from 1h is the native 4h, bit for bit', async (coin) => {
    const native = await readCandles(`binance-usdm/${coin}USDT-4h`)
    const hours = await readCandles(`binance-usdm/${coin}USDT-1h`)
    const first = native[0]?.openTime ?? 0
    const made = aggregate(hours, '1h', '4h').filter(({ openTime }) => openTime >= first)
    expect(native).toHaveLength(2_004)
    expect(made).toEqual(native)
  })

  it.each([
    ['binance-usdm/SOLUSDT-1m', '1m', 'binance-usdm/SOLUSDT-5m', '5m'],
    ['binance-usdm/ETHUSDT-1m', '1m', 'binance-usdm/ETHUSDT-30m', '30m'],
    ['binance-usdm/BTCUSDT-1m', '1m', 'binance-usdm/BTCUSDT-1h', '1h'],
    ['hyperliquid/BTC-1m', '1m', 'hyperliquid/BTC-3m', '3m'],
    ['hyperliquid/BTC-1m', '1m', 'hyperliquid/BTC-5m', '5m'],
    ['hyperliquid/BTC-1m', '1m', 'hyperliquid/BTC-15m', '15m'],
    ['binance-usdm/BTCUSDT-15m', '15m', 'binance-usdm/BTCUSDT-1h', '1h'],
  ] as const)('%s in bars of %s makes %s bit for bit', async (baseFile, base, nativeFile, target) => {
    const bars = await readCandles(baseFile)
    const native = new Map((await readCandles(nativeFile)).map((bar) => [bar.openTime, bar]))
    const pairs = aggregate(bars, base, target).flatMap((bar) => {
      const other = native.get(bar.openTime)
      return other === undefined ? [] : [[bar, other] as const]
    })
    expect(pairs.length).toBeGreaterThan(100)
    expect(pairs.map(([made]) => made)).toEqual(pairs.map(([, other]) => other))
  })

  it('drops the hour that the minutes begin within', async () => {
    const bars = await readCandles('binance-usdm/BTCUSDT-1m')
    const hours = aggregate(bars, '1m', '1h')
    expect(hours[0]?.openTime).toBe(Math.ceil((bars[0]?.openTime ?? 0) / HOUR_MS) * HOUR_MS)
  })
})
