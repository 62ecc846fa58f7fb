import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { NOON, START, startLiveBench } from './testing/live-bench.ts'
import { never, withVenue } from './testing/with-venue.ts'

/** An answer of OKX: open time, close and the cell that says whether the bar is finished. */
const answerOf = (...rows: (readonly [number, number, string])[]): string =>
  JSON.stringify({
    code: '0',
    msg: '',
    data: rows.map(([open, close, confirm]) =>
      [open, close, close, close, close, 10, 1, 100, confirm].map(String),
    ),
  })

describe('a bar that the venue marks as unfinished', () => {
  const series = { exchange: 'OKX', coin: 'BTC', timeframe: '1h' } as const
  const open = Math.floor(START / HOUR_MS) * HOUR_MS - HOUR_MS

  test('is left out, although its time is over', async () => {
    await withVenue('OKX', async (venue, bench) => {
      const text = answerOf([open, 100, '0'], [open - HOUR_MS, 100, '1'])
      bench.venue('OKX').fail('candles', { kind: 'instead', text })
      const bars = await venue.bars(series, open - HOUR_MS, 10, never)
      expect(bars.map(({ openTime }) => openTime)).toEqual([open - HOUR_MS])
    })
  })

  test('is fetched again, and the finished one counts', async () => {
    await using bench = await startLiveBench({ exchanges: ['OKX'], historyBars: 20 })
    const minute = NOON + MINUTE_MS
    const price = bench.venue('OKX').market.candle('BTC', '1m', minute).open
    const isOfMinute = ({ query }: { query: Readonly<Record<string, string>> }): boolean =>
      query['bar'] === '1m' && bench.clock.now() >= minute + MINUTE_MS
    bench
      .venue('OKX')
      .fail('candles', { kind: 'instead', text: answerOf([minute, price, '0']) }, 2, isOfMinute)
    const batches = await bench.collect(
      { series: [{ exchange: 'OKX', coin: 'BTC', timeframe: '1m' }], liveFrom: NOON },
      ({ at }) => at >= NOON + 4 * MINUTE_MS,
    )
    const told = batches.flatMap(({ bars }) => bars).filter(({ candle }) => candle.openTime >= NOON)
    expect(told.map(({ candle }) => (candle.openTime - NOON) / MINUTE_MS)).toEqual([0, 1, 2, 3])
    const second = told[1]?.candle
    expect(second).toEqual({
      ...bench.venue('OKX').market.candle('BTC', '1m', minute),
      volume: second?.volume,
    })
    expect(bench.feed.venues()[0]?.faults.restated).toBe(0)
  })
})
