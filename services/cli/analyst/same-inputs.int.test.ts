import { expect, test } from 'vitest'
import type { BarsPage } from '../../../contracts/answers/bars.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { loadModel, SeriesEngine, type VerdictDraft } from '../../engine/index.ts'
import { createBars } from '../../market/index.ts'
import { type LiveBench, NOON, startLiveBench } from '../../market/live/testing/live-bench.ts'
import type { LiveExchange } from '../../market/live/venues.ts'
import { recomputeVerdict } from './recompute-verdict.ts'

/** The verdict at every bar from the seam on, by the close of the bar. */
function verdictsOf(batches: readonly BarBatch[], series: Series): ReadonlyMap<number, VerdictDraft> {
  const engine = new SeriesEngine({ model: loadModel() })
  const opened = engine.open(series)
  const verdicts = new Map<number, VerdictDraft>()
  for (const { phase, bars } of batches) {
    for (const { candle } of bars) {
      engine.push(opened, candle)
      const reading = engine.read(opened)
      if (phase === 'live' && reading.status === 'verdict')
        verdicts.set(reading.verdict.barClose, reading.verdict)
    }
  }
  return verdicts
}

/** The bars that `GET /api/bars` gives, page by page, as long after as somebody asks. */
async function* callerServices({ feed, clock }: LiveBench, series: Series, from: number, to: number) {
  const ask = createBars(feed)
  for (let next: number | null = from; next !== null; ) {
    const page: BarsPage = await clock.runUntil(
      ask({ series, from: next, to }, new AbortController().signal, 'tester'),
    )
    yield page
    next = page.next
  }
}

test.each<[LiveExchange, Timeframe, number]>([
  ['BINANCE', '1m', 5 * HOUR_MS],
  ['BINANCE', '5m', 5 * HOUR_MS],
  ['BINANCE', '30m', 9 * HOUR_MS],
  ['BINANCE', '1h', 21 * DAY_MS],
  ['BINANCE', '4h', 21 * DAY_MS],
  ['BINANCE', '1d', 3 * DAY_MS],
  ['HL', '1m', 5 * HOUR_MS],
  ['HL', '30m', 9 * HOUR_MS],
  ['HL', '1h', 21 * DAY_MS],
  ['HL', '4h', 3 * DAY_MS],
])('live verdicts can be computed again from history: %s %s', async (exchange, timeframe, runsForMs) => {
  await using bench = await startLiveBench({ exchanges: [exchange] })
  const series: Series = { exchange, coin: 'BTC', timeframe }
  const end = NOON + runsForMs
  const live = verdictsOf(await bench.collect({ series: [series] }, ({ at }) => at >= end), series)
  expect(live.size).toBeGreaterThanOrEqual(Math.floor(runsForMs / timeframeMs(timeframe)))
  // The newest one's chain goes through all of them.
  const newest = [...live.values()].at(-1)
  if (newest === undefined) throw new Error('no verdict')
  const said = { ...newest, verdictId: 'x', previous: null, recordedLate: false }
  const bars = callerServices(bench, series, newest.anchorBar, newest.barClose)
  expect((await recomputeVerdict(said, bars)).differences).toEqual([])
})
