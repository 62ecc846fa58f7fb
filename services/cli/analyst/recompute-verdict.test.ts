import { expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { loadModel, SeriesEngine } from '../../engine/index.ts'
import { createBars, createSimulatedFeed, type MarketFeed } from '../../market/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { recomputeVerdict } from './recompute-verdict.ts'

const NOW = Date.UTC(2026, 0, 1)
const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const { signal } = new AbortController()

const simulated = (): MarketFeed =>
  createSimulatedFeed({
    seed: 'x',
    now: () => NOW + 20_000,
    sleepUntil: (_at, until) => sleep(60_000, until),
  })

/** The verdict of an engine at the last bar of the past. */
async function recorded(feed: MarketFeed): Promise<Verdict> {
  const engine = new SeriesEngine({ model: loadModel() })
  const opened = engine.open(SERIES)
  const ending = new AbortController()
  for await (const { bars, phase } of feed.batches({ series: [SERIES], signal: ending.signal })) {
    if (phase === 'live') break
    for (const { candle } of bars) engine.push(opened, candle)
  }
  ending.abort()
  const reading = engine.read(opened)
  if (reading.status !== 'verdict') throw new Error('no verdict')
  return { ...reading.verdict, verdictId: 'x', previous: null, recordedLate: false }
}

async function* pages(
  feed: MarketFeed,
  { exchange, coin, timeframe, anchorBar, barClose }: Verdict,
  change: (bar: Candle) => Candle = (bar) => bar,
) {
  const page = await createBars(feed)(
    { series: { exchange, coin, timeframe }, from: anchorBar, to: barClose },
    signal,
    'tester',
  )
  yield { ...page, bars: page.bars.map(change) }
}

test('a verdict comes out the same to the last bit from the bars that are served, and not from others', async () => {
  const feed = simulated()
  const verdict = await recorded(feed)
  const same = await recomputeVerdict(verdict, pages(feed, verdict))
  expect(same.differences).toEqual([])
  expect(same.bars).toBe((verdict.barClose - verdict.anchorBar) / HOUR_MS)
  const ofFormerRelease = { ...verdict, reasoning: 'SELL; momentum over 24 bars (down) weighs most.' }
  expect((await recomputeVerdict(ofFormerRelease, pages(feed, verdict))).differences).toEqual([])
  const nudge = (bar: Candle): Candle =>
    bar.openTime === verdict.anchorBar ? { ...bar, volume: bar.volume + 1e-9 } : bar
  const other = await recomputeVerdict(verdict, pages(feed, verdict, nudge))
  expect(other.differences.map(({ field }) => field)).toContain('inputsHash')
  await expect(
    recomputeVerdict({ ...verdict, modelVersion: 'other-1' }, pages(feed, verdict)),
  ).rejects.toThrow(/run the release that recorded it/)
  await expect(
    recomputeVerdict({ ...verdict, anchorBar: verdict.barClose - HOUR_MS }, pages(feed, verdict)),
  ).rejects.toThrow(/no verdict follows from so few/)
})

test('bars are served in pages, with their gaps', async () => {
  const bar = (hour: number): Candle => ({
    openTime: NOW + hour * HOUR_MS,
    open: 1,
    high: 1,
    low: 1,
    close: 1,
    volume: 1,
  })
  const sim = simulated()
  let times = 0
  const feed: MarketFeed = {
    ...sim,
    clock: () => NOW + 20_000 * HOUR_MS,
    async *batches() {
      times += 1
      for (const hour of [0, 1, 4]) {
        const candle = bar(hour)
        const batch: BarBatch = {
          at: candle.openTime + HOUR_MS,
          phase: 'history',
          bars: [{ series: SERIES, candle }],
          funding: [],
        }
        yield batch
      }
    },
  }
  const ask = createBars(feed)
  const asked = { series: SERIES, from: NOW, to: NOW + 6_000 * HOUR_MS }
  // The same questions share what the market answered the first.
  const [answer, again] = await Promise.all([ask(asked, signal, 'tester'), ask(asked, signal, 'another')])
  expect([again, times]).toEqual([answer, 1])
  expect(answer.bars).toHaveLength(3)
  expect(answer.next).toBe(NOW + 5_000 * HOUR_MS)
  expect(answer.gaps).toEqual([
    { from: NOW + 2 * HOUR_MS, to: NOW + 4 * HOUR_MS },
    { from: NOW + 5 * HOUR_MS, to: NOW + 5_000 * HOUR_MS },
  ])
  const nothing = await createBars(feed)({ series: SERIES, from: NOW + 1, to: NOW + 2 }, signal, 'tester')
  expect([nothing.bars, nothing.gaps, nothing.next]).toEqual([[], [], null])
})
