import { expect, test } from 'vitest'
import type { BarBatch } from '../../contracts/feed.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Series } from '../../contracts/series.ts'
import { HOUR_MS, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { createEngine, loadModel, type VerdictDraft } from '../engine/index.ts'
import { startLiveBench } from '../market/live/testing/live-bench.ts'
import type { LiveExchange } from '../market/live/venues.ts'

const NOON = Date.UTC(2026, 2, 3, 12)
const END = NOON + 5 * HOUR_MS

/** The verdict at every bar from the seam on, by the close of the bar. */
function verdictsOf(batches: readonly BarBatch[], series: Series): ReadonlyMap<number, VerdictDraft> {
  const engine = createEngine({ model: loadModel() })
  const slot = engine.open(series)
  const verdicts = new Map<number, VerdictDraft>()
  for (const { bars, funding } of batches) {
    for (const settled of funding) engine.pushFunding(settled.market, settled.funding)
    for (const { candle } of bars) {
      engine.push(slot, candle)
      const reading = engine.read(slot)
      if (reading.status === 'verdict') verdicts.set(reading.verdict.barClose, reading.verdict)
    }
  }
  return verdicts
}

// HL settles every hour, BINANCE at 16:00. Funding is fetched for 35 days: series that begin before that have no such hash.
test.each<[LiveExchange, Timeframe]>([
  ['BINANCE', '30m'],
  ['BINANCE', '5m'],
  ['HL', '30m'],
  ['HL', '1m'],
])('the inputs of a live verdict can be computed again from history: %s %s', async (exchange, timeframe) => {
  await using bench = await startLiveBench({ exchanges: [exchange], coins: ['BTC'], start: NOON + 20_000 })
  const series: Series = { exchange, coin: 'BTC', timeframe }
  // What a start at noon reads back to; one that is later would begin later by itself.
  const historyFrom = NOON - LIMITS.historyBars * timeframeMs(timeframe)
  const ended = (batch: BarBatch): boolean => batch.at >= END
  const live = verdictsOf(await bench.collect({ series: [series], historyFrom }, ended), series)
  const past = verdictsOf(await bench.collect({ series: [series], historyFrom }, ended), series)
  const behindSeam = [...live].filter(([barClose]) => barClose >= NOON)
  expect(behindSeam.length).toBeGreaterThanOrEqual((END - NOON) / timeframeMs(timeframe))
  expect(new Set(behindSeam.map(([, verdict]) => verdict.factors.at(-1)?.value)).size).toBeGreaterThan(1)
  for (const [barClose, verdict] of behindSeam) {
    expect(past.get(barClose), new Date(barClose).toISOString()).toEqual(verdict)
  }
})
