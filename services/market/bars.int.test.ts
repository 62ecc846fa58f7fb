import { expect, test } from 'vitest'
import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { createBars } from './bars.ts'
import { startLiveBench } from './live/testing/live-bench.ts'
import { LIVE_EXCHANGES } from './live/venues.ts'

const TODAY = Date.UTC(2026, 2, 3)
const START = TODAY + 11 * 3_600_000

test.each(LIVE_EXCHANGES)(
  '%s: a question for one daily bar costs a few pages of bars, the same again none',
  async (exchange) => {
    await using bench = await startLiveBench({ exchanges: [exchange], coins: ['BTC'], start: START })
    const ask = createBars(bench.feed)
    const { signal } = new AbortController()
    const pages = (): number => bench.venue(exchange).requests.get('candles') ?? 0
    const series = { exchange, coin: 'BTC', timeframe: '1d' } as const
    for (const to of [TODAY, TODAY - 90 * DAY_MS]) {
      const before = pages()
      const query = { series, from: to - DAY_MS, to }
      const { bars } = await bench.clock.runUntil(ask(query, signal, 'somebody'))
      expect(bars.map(({ openTime }) => openTime)).toEqual([to - DAY_MS])
      expect(pages() - before).toBeLessThanOrEqual(2)
      await bench.clock.runUntil(ask(query, signal, 'another'))
      expect(pages() - before).toBeLessThanOrEqual(2)
    }
  },
)
