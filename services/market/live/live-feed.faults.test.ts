import { describe, expect, test } from 'vitest'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { HOUR_MS, MINUTE_MS, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type LiveBench, NOON, startLiveBench, unbroken } from './testing/live-bench.ts'
import type { LiveExchange } from './venues.ts'

const one = (exchange: LiveExchange, coin: string, timeframe: Timeframe): Series => ({
  exchange,
  coin,
  timeframe,
})

/** Open times of a series, in the order in which its bars came. */
const opensOf = (batches: readonly BarBatch[], series: Series): number[] =>
  batches.flatMap(({ bars }) =>
    bars.filter((bar) => seriesName(bar.series) === seriesName(series)).map(({ candle }) => candle.openTime),
  )

const untilAt = (instant: number) => (batch: BarBatch) => batch.at >= instant && batch.isLate === undefined

/** Until the newest bar of a series is there, late or not. */
const untilBar = (series: Series, openTime: number) => (batch: BarBatch) =>
  opensOf([batch], series).includes(openTime)

function expectTrueBars(bench: LiveBench, exchange: LiveExchange, batches: readonly BarBatch[]): void {
  const { market } = bench.venue(exchange)
  for (const { bars } of batches) {
    for (const { series, candle } of bars.filter((bar) => bar.series.exchange === exchange)) {
      const { volume, ...prices } = market.candle(series.coin, series.timeframe, candle.openTime)
      expect(candle).toMatchObject(prices)
      expect(candle.volume / volume).toBeCloseTo(1, 9)
    }
  }
}

describe('a venue that is away at the start', () => {
  test('holds up no other, and its bars come late, in order and none left out', async () => {
    await using bench = await startLiveBench({ exchanges: ['BINANCE', 'OKX'], historyBars: 30 })
    for (const route of ['markets', 'candles', 'funding'] as const) {
      bench.venue('OKX').fail(route, { kind: 'status', status: 503 })
    }
    const [fine, away, hours] = [
      one('BINANCE', 'BTC', '1m'),
      one('OKX', 'BTC', '1m'),
      one('OKX', 'BTC', '4h'),
    ]
    let seenWhileAway: unknown
    const batches = await bench.collect({ series: [fine, away, hours] }, (batch) => {
      if (batch.at === NOON + 2 * MINUTE_MS && batch.isLate === undefined) {
        seenWhileAway = bench.feed.venues()
        bench.venue('OKX').heal()
      }
      return untilAt(NOON + 12 * MINUTE_MS)(batch)
    })
    expect(seenWhileAway).toMatchObject([
      { exchange: 'BINANCE', state: 'ok' },
      { exchange: 'OKX', state: 'failed', dataAgeMs: null },
    ])
    expect(JSON.stringify(seenWhileAway)).toMatch(/503/)
    expect(bench.feed.venues().map(({ state }) => state)).toEqual(['ok', 'ok'])

    expect(opensOf(batches, fine)).toEqual(unbroken('1m', 42, NOON + 12 * MINUTE_MS))
    expect(opensOf(batches, away)).toEqual(unbroken('1m', 42, NOON + 12 * MINUTE_MS))
    expect(opensOf(batches, hours)).toEqual(unbroken('4h', 30, NOON))
    expectTrueBars(bench, 'OKX', batches)
    const late = batches.filter(({ isLate }) => isLate === true)
    expect(late.every(({ bars }) => bars.every(({ series }) => series.exchange === 'OKX'))).toBe(true)
    // Of late history only the newest bar of each series is worth a verdict.
    const lateHistory = (series: Series) =>
      late.filter(({ at }) => at <= NOON).flatMap((batch) => opensOf([batch], series).map(() => batch.phase))
    for (const series of [away, hours]) {
      expect(lateHistory(series)).toEqual([...Array.from({ length: 29 }, () => 'history'), 'live'])
    }
  })

  test('without any venue there is nothing listed, and the ranking says why', async () => {
    await using bench = await startLiveBench({ exchanges: ['OKX'] })
    bench.venue('OKX').fail('markets', { kind: 'reset' })
    expect(await bench.clock.runUntil(bench.feed.listings())).toEqual([])
    expect(bench.feed.venues()).toMatchObject([{ exchange: 'OKX', state: 'failed' }])
    await expect(bench.clock.runUntil(bench.feed.universe('OKX'))).rejects.toMatchObject({
      code: 'venue_unavailable',
    })
    await expect(bench.clock.runUntil(bench.feed.universe('BYBIT'))).rejects.toMatchObject({
      code: 'unknown_exchange',
    })
    bench.venue('OKX').heal()
    await bench.clock.runUntil(bench.clock.sleep(LIMITS.venuePauseMaxMs, new AbortController().signal))
    expect(await bench.clock.runUntil(bench.feed.listings())).toHaveLength(1)
  })
})

describe('a venue that is slow', () => {
  test('delays the others for a while only, and only once; its bars come late', async () => {
    await using bench = await startLiveBench({ exchanges: ['BINANCE', 'GATE'], historyBars: 10 })
    const { promise: until, resolve: release } = Promise.withResolvers<void>()
    const [fine, slow] = [one('BINANCE', 'BTC', '1m'), one('GATE', 'BTC', '1m')]
    const toldAt = new Map<number, number>()
    const batches = await bench.collect({ series: [fine, slow] }, (batch) => {
      if (batch.at === NOON + MINUTE_MS) {
        bench.clock.ignore(bench.venue('GATE').url)
        bench.venue('GATE').fail('candles', { kind: 'held', until })
      }
      if (opensOf([batch], fine).length > 0) toldAt.set(batch.at, bench.clock.now() - batch.at)
      if (batch.at === NOON + 4 * MINUTE_MS) release()
      return untilBar(slow, NOON + 5 * MINUTE_MS)(batch)
    })
    const delays = [1, 2, 3, 4].map((minute) => toldAt.get(NOON + minute * MINUTE_MS))
    expect(delays[0]).toBeLessThan(LIMITS.venueSettleMs + 1_000)
    expect(delays[1]).toBe(LIMITS.venueSettleMs + LIMITS.venueLagMs)
    expect(Math.max(delays[2] ?? 0, delays[3] ?? 0)).toBeLessThan(LIMITS.venueSettleMs + 1_000)
    expect(opensOf(batches, slow)).toEqual(unbroken('1m', 16, NOON + 6 * MINUTE_MS))
    expectTrueBars(bench, 'GATE', batches)
  })

  test('whose clock is behind is believed: no bar is taken before it has closed there', async () => {
    await using bench = await startLiveBench({
      exchanges: ['BYBIT'],
      historyBars: 10,
      venuesBehindMs: 40_000,
    })
    const series = one('BYBIT', 'BTC', '1m')
    const batches = await bench.collect({ series: [series] }, untilBar(series, NOON + 4 * MINUTE_MS))
    expectTrueBars(bench, 'BYBIT', batches)
    expect(opensOf(batches, series)).toEqual(unbroken('1m', 15, NOON + 5 * MINUTE_MS))
  })
})

describe('what goes wrong for a while', () => {
  test.each([
    ['429', { kind: 'status', status: 429, retryAfter: '3' }],
    ['500', { kind: 'status', status: 500 }],
    ['broken connections', { kind: 'reset' }],
    ['garbage', { kind: 'instead', text: '{"code":"0","data":[' }],
  ] as const)('%s costs no bar', async (_name, fault) => {
    await using bench = await startLiveBench({ exchanges: ['OKX'], coins: ['BTC', 'ETH'], historyBars: 400 })
    // Twice in the history, and at every third request of live bars.
    bench.venue('OKX').fail('candles', fault, 2)
    let asked = 0
    bench
      .venue('OKX')
      .fail('candles', fault, 20, () => bench.clock.now() > NOON + MINUTE_MS && asked++ % 3 === 0)
    const series = [one('OKX', 'BTC', '1m'), one('OKX', 'ETH', '5m')]
    const batches = await bench.collect({ series }, untilAt(NOON + 10 * MINUTE_MS))
    expect(opensOf(batches, series[0] as Series)).toEqual(unbroken('1m', 410, NOON + 10 * MINUTE_MS))
    expect(opensOf(batches, series[1] as Series)).toEqual(unbroken('5m', 402, NOON + 10 * MINUTE_MS))
    expectTrueBars(bench, 'OKX', batches)
  })

  test('a list of markets that cannot be fetched again does not end a venue that is well', async () => {
    await using bench = await startLiveBench({ exchanges: ['BINANCE'], historyBars: 5 })
    const series = one('BINANCE', 'BTC', '1m')
    const batches = await bench.collect({ series: [series] }, (batch) => {
      if (batch.at === NOON + MINUTE_MS)
        bench.venue('BINANCE').fail('markets', { kind: 'status', status: 500 })
      return untilAt(NOON + 70 * MINUTE_MS)(batch)
    })
    expect(bench.venue('BINANCE').requests.get('markets')).toBeGreaterThan(1)
    expect(opensOf(batches, series)).toEqual(unbroken('1m', 75, NOON + 70 * MINUTE_MS))
  })
})

describe('markets come and go', () => {
  test('a coin that is not listed any more costs the others nothing; what never was is refused', async () => {
    await using bench = await startLiveBench({ exchanges: ['BYBIT'], coins: ['BTC', 'ETH'], historyBars: 5 })
    const [stays, goes] = [one('BYBIT', 'BTC', '1m'), one('BYBIT', 'ETH', '1m')]
    const { market } = bench.venue('BYBIT')
    const batches = await bench.collect({ series: [stays, goes] }, (batch) => {
      if (batch.at === NOON + 2 * MINUTE_MS) market.delist('ETH')
      return untilAt(NOON + 80 * MINUTE_MS)(batch)
    })
    expect(opensOf(batches, stays)).toEqual(unbroken('1m', 85, NOON + 80 * MINUTE_MS))
    expect(opensOf(batches, goes)).toEqual(unbroken('1m', 7, NOON + 2 * MINUTE_MS))
    const coins = async () => (await bench.clock.runUntil(bench.feed.listings())).map(({ coin }) => coin)
    expect(await coins()).toEqual(['BTC'])
    const refused = bench.collect({ series: [one('BYBIT', 'NONE', '1m')] }, () => true)
    await expect(refused).rejects.toMatchObject({ code: 'market_data_missing' })
    market.list('SOL')
    await bench.clock.runUntil(bench.clock.sleep(HOUR_MS + MINUTE_MS, new AbortController().signal))
    expect(await coins()).toEqual(['BTC', 'SOL'])
  })

  test('a bar that the venue has not stays missing, and longer bars are made without it', async () => {
    const missing = new Set([-3, -2, 0, 4, 5].map((minute) => NOON + minute * MINUTE_MS))
    await using bench = await startLiveBench({
      exchanges: ['KUCOIN'],
      historyBars: 10,
      isMissing: (_coin, openTime) => missing.has(openTime),
    })
    const [minutes, fives] = [one('KUCOIN', 'BTC', '1m'), one('KUCOIN', 'BTC', '5m')]
    const batches = await bench.collect({ series: [minutes, fives] }, untilAt(NOON + 12 * MINUTE_MS))
    const there = unbroken('1m', 22, NOON + 12 * MINUTE_MS).filter((open) => !missing.has(open))
    expect(opensOf(batches, minutes)).toEqual(there)
    expect(opensOf(batches, fives)).toEqual(unbroken('5m', 12, NOON + 10 * MINUTE_MS))
    const told = batches.find((batch) => opensOf([batch], fives).includes(NOON))
    // Its last minute is missing, which only the next one shows, two minutes later.
    expect(told?.at).toBe(NOON + 5 * MINUTE_MS)
    expect(batches[batches.indexOf(told as BarBatch) + 1]?.at).toBe(NOON + 7 * MINUTE_MS)
    const truth = [1, 2, 3].map((minute) =>
      bench.venue('KUCOIN').market.candle('BTC', '1m', NOON + minute * MINUTE_MS),
    )
    expect(told?.bars.find(({ series }) => series.timeframe === '5m')?.candle).toMatchObject({
      openTime: NOON,
      open: truth[0]?.open,
      close: truth[2]?.close,
      high: Math.max(...truth.map(({ high }) => high)),
    })
  })
})

test('a restart goes on behind the last bar that was recorded', async () => {
  await using bench = await startLiveBench({ exchanges: ['HL'], historyBars: 20 })
  const liveFrom = NOON - 2 * HOUR_MS
  const series = one('HL', 'BTC', '15m')
  const batches = await bench.collect({ series: [series], liveFrom }, untilAt(NOON + 15 * MINUTE_MS))
  expect(opensOf(batches, series)).toEqual(unbroken('15m', 29, NOON + 15 * MINUTE_MS))
  const seam = batches.findIndex(({ phase }) => phase === 'live')
  expect(batches[seam]).toEqual({ at: liveFrom, phase: 'live', bars: [], funding: [] })
  expect(opensOf(batches.slice(0, seam), series)).toEqual(unbroken('15m', 20, liveFrom))
  expectTrueBars(bench, 'HL', batches)
})

test('ends quietly at the signal, also while a venue hangs', async () => {
  await using bench = await startLiveBench({ exchanges: ['OKX'], historyBars: 5 })
  await bench.clock.runUntil(bench.feed.listings())
  bench.clock.ignore(bench.venue('OKX').url)
  bench.venue('OKX').fail('candles', { kind: 'silent' })
  const ending = new AbortController()
  const ended = (async () => {
    const series = [one('OKX', 'BTC', '1m')]
    const told: number[] = []
    for await (const { at } of bench.feed.batches({ series, signal: ending.signal })) told.push(at)
    return told
  })()
  await new Promise((resolve) => setTimeout(resolve, 50))
  ending.abort()
  expect(await bench.clock.runUntil(ended)).toEqual([])
})
