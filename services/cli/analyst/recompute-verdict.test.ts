import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Candle } from '../../../contracts/candle.ts'
import type { BarBatch } from '../../../contracts/feed.ts'
import type { Series } from '../../../contracts/series.ts'
import { HOUR_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { randomWalk } from '../../../testing/random-walk.ts'
import { createBars } from '../../composition/roles/bars.ts'
import { keptModelFile, loadModel, SeriesEngine } from '../../engine/index.ts'
import { createSimulatedFeed, type MarketFeed } from '../../market/index.ts'
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
async function recorded(feed: MarketFeed, series: Series = SERIES, model = loadModel()): Promise<Verdict> {
  const engine = new SeriesEngine({ model })
  const slot = engine.open(series)
  const ending = new AbortController()
  for await (const { bars, funding, phase } of feed.batches({ series: [series], signal: ending.signal })) {
    if (phase === 'live') break
    for (const one of funding) engine.pushFunding(one.market, one.funding)
    for (const { candle } of bars) engine.push(slot, candle)
  }
  ending.abort()
  const reading = engine.read(slot)
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
  ).rejects.toThrow(/--model/)
  await expect(
    recomputeVerdict({ ...verdict, anchorBar: verdict.barClose - HOUR_MS }, pages(feed, verdict)),
  ).rejects.toThrow(/no verdict follows from so few/)
})

test('a verdict of a former model comes out as it was said, where the present one makes no call', async () => {
  const feed = simulated()
  const former = loadModel(keptModelFile('barrier-3'))
  const verdict = await recorded(feed, { ...SERIES, timeframe: '4h' }, former)
  expect(former.timeframes['4h'].skill && !loadModel().timeframes['4h'].skill).toBe(true)
  expect(verdict.probability).not.toBe(0.5)
  expect((await recomputeVerdict(verdict, pages(feed, verdict))).differences).toEqual([])
})

/** Verdicts as the releases of their models computed them. */
const FORMER = readFileSync(
  new URL('../../../fixtures/verdicts/former-models.ndjson', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line): Verdict => JSON.parse(line) as Verdict)

test.each(FORMER.map((verdict) => [verdict.modelVersion, verdict.timeframe, verdict.regime, verdict]))(
  'a verdict that %s said at %s in a market that is %s comes out bit for bit, ranges and regime with it',
  async (_model, timeframe, _regime, verdict) => {
    async function* walked() {
      const bars = randomWalk(7, 1_600).map((bar, index) => ({
        ...bar,
        openTime: index * timeframeMs(timeframe),
      }))
      yield { bars, funding: [] }
    }
    expect((await recomputeVerdict(verdict, walked())).differences).toEqual([])
  },
)

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
  const feed: MarketFeed = {
    ...sim,
    clock: () => NOW + 20_000 * HOUR_MS,
    async *batches() {
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
  const answer = await createBars(feed)(
    { series: SERIES, from: NOW, to: NOW + 6_000 * HOUR_MS },
    signal,
    'tester',
  )
  expect(answer.bars).toHaveLength(3)
  expect(answer.next).toBe(NOW + 5_000 * HOUR_MS)
  expect(answer.gaps).toEqual([
    { from: NOW + 2 * HOUR_MS, to: NOW + 4 * HOUR_MS },
    { from: NOW + 5 * HOUR_MS, to: NOW + 5_000 * HOUR_MS },
  ])
  const nothing = await createBars(feed)({ series: SERIES, from: NOW + 1, to: NOW + 2 }, signal, 'tester')
  expect([nothing.bars, nothing.gaps, nothing.next]).toEqual([[], [], null])
})
