import { expect, test } from 'vitest'
import type { Series } from '../../contracts/domain/series.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { loadModel, SeriesEngine } from '../engine/index.ts'
import { createSimulatedFeed } from '../market/index.ts'

const series: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const END = Date.UTC(2026, 0, 1)
const LONG_AGO = 4 * LIMITS.historyBars
const model = loadModel()

/** The verdicts of a market that began some bars before an instant: at the instant, and at the bars before it. */
async function saidAt(instant: number, historyBars: number, last = 1) {
  const feed = createSimulatedFeed({
    seed: 'restart',
    now: () => instant,
    sleepUntil: () => Promise.resolve(),
  })
  const engine = new SeriesEngine({ model })
  const slot = engine.open(series)
  const said = new Map<number, { readonly regime: string; readonly percentile: number }>()
  const { signal } = new AbortController()
  for await (const batch of feed.batches({ series: [series], signal, historyBars })) {
    if (batch.phase === 'live') break
    for (const { candle } of batch.bars) engine.push(slot, candle)
    if (batch.at <= instant - last * HOUR_MS) continue
    const reading = engine.read(slot)
    if (reading.status !== 'verdict') throw new Error('There are too few bars.')
    const { regime, volatilityPercentile } = reading.verdict
    said.set(batch.at, { regime, percentile: volatilityPercentile })
  }
  return said
}

test('a restart on the simulated market is as if it had not been; with less of the past it would not', async () => {
  const spread = 2_000
  const always = await saidAt(END, LONG_AGO, spread)
  const apart = { regimes: 0, percentile: 0, withLess: 0 }
  for (let back = 0; back < spread; back += 100) {
    const instant = END - back * HOUR_MS
    const expected = always.get(instant) ?? expect.fail('There is no such bar.')
    for (const historyBars of [LIMITS.historyBars, 600]) {
      const { regime, percentile } = (await saidAt(instant, historyBars)).get(instant) ?? expected
      const difference = Math.abs(percentile - expected.percentile)
      if (historyBars === 600) apart.withLess = Math.max(apart.withLess, difference)
      else {
        apart.percentile = Math.max(apart.percentile, difference)
        apart.regimes += regime === expected.regime ? 0 : 1
      }
    }
  }
  expect(apart.regimes).toBe(0)
  expect(apart.percentile).toBeLessThanOrEqual(1 / LIMITS.volatilityBars + 1e-12)
  expect(apart.withLess).toBeGreaterThan(0.05)
})
