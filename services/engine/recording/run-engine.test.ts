import { describe, expect, test } from 'vitest'
import type { BarBatch } from '../../../contracts/feed.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { openMemoryStore } from '../../platform/event-store/memory/memory-store.ts'
import { createFactIds } from '../../platform/ids/fact-id.ts'
import type { Engine, EngineReading } from '../engine.ts'
import { createRecorder } from './recorder.ts'
import { runEngine } from './run-engine.ts'

const MINUTE_MS = 60_000
const T0 = Date.UTC(2025, 0, 1)
const BTC: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1m' }
const ETH: Series = { exchange: 'SIM', coin: 'ETH', timeframe: '1m' }

/** An engine that keeps only what it was told, and has a verdict from the third bar on. */
function fakeEngine(): Engine & { readonly heard: string[] } {
  const open: { series: Series; bars: number; at: number }[] = []
  const heard: string[] = []
  return {
    heard,
    modelVersion: 'fake-1',
    get seriesCount() {
      return open.length
    },
    open: (series) => open.push({ series, bars: 0, at: 0 }) - 1,
    close: (slot) => void heard.push(`close ${slot}`),
    push(slot, bar) {
      const entry = open[slot]
      if (entry === undefined) throw new Error('not open')
      entry.bars += 1
      entry.at = bar.openTime + MINUTE_MS
      heard.push(`${seriesName(entry.series)} ${(bar.openTime - T0) / MINUTE_MS}`)
    },
    pushFunding: (market, funding) => void heard.push(`funding ${market.coin} ${funding.rate}`),
    read(slot): EngineReading {
      const entry = open[slot]
      if (entry === undefined) throw new Error('not open')
      if (entry.bars < 3) return { status: 'insufficient_history', bars: entry.bars, barsNeeded: 3 }
      const { verdictId: _none, ...verdict } = aVerdict({ ...entry.series, barClose: entry.at })
      return { status: 'verdict', verdict, metrics: {} as never }
    },
  }
}

const batch = (
  minute: number,
  phase: BarBatch['phase'],
  series: readonly Series[],
  rate?: number,
): BarBatch => ({
  at: T0 + (minute + 1) * MINUTE_MS,
  phase,
  bars: series.map((one) => ({
    series: one,
    candle: { openTime: T0 + minute * MINUTE_MS, open: 1, high: 1, low: 1, close: 1, volume: 1 },
  })),
  funding:
    rate === undefined
      ? []
      : [{ market: { exchange: 'SIM', coin: 'BTC' }, funding: { time: T0, rate, intervalHours: 8 } }],
})

async function* feed(batches: readonly BarBatch[]): AsyncGenerator<BarBatch> {
  for (const one of batches) {
    await new Promise((resolve) => setImmediate(resolve))
    yield one
  }
}

async function run(batches: readonly BarBatch[], series: readonly Series[] = [BTC, ETH]) {
  const engine = fakeEngine()
  const store = openMemoryStore({ now: () => T0 })
  const recorded: string[] = []
  const result = await runEngine({
    engine,
    series,
    recorder: createRecorder({
      store,
      signal: new AbortController().signal,
      idOf: createFactIds(Buffer.from('secret')),
      sleep: async () => undefined,
    }),
    batches: feed(batches),
    onRecorded: (verdicts) =>
      void recorded.push(...verdicts.map((one) => `${one.coin} ${(one.barClose - T0) / MINUTE_MS}`)),
  })
  return { engine, recorded, result }
}

describe('following a market', () => {
  test('history is not recorded, but for the newest verdict of each series at the seam', async () => {
    const { recorded } = await run([
      batch(0, 'history', [BTC, ETH]),
      batch(1, 'history', [BTC, ETH]),
      batch(2, 'history', [BTC, ETH]),
      batch(3, 'history', [BTC]),
      { at: T0 + 5 * MINUTE_MS, phase: 'live', bars: [], funding: [] },
    ])
    expect(recorded).toEqual(['ETH 3', 'BTC 4'])
  })

  test('every live bar is recorded, together with the seam where both are ready at once', async () => {
    const { recorded, result } = await run([
      batch(0, 'history', [BTC]),
      batch(1, 'history', [BTC]),
      batch(2, 'history', [BTC]),
      batch(3, 'live', [BTC, ETH]),
      batch(4, 'live', [BTC, ETH]),
      batch(5, 'live', [BTC, ETH]),
    ])
    expect(recorded).toEqual(['BTC 3', 'BTC 4', 'BTC 5', 'BTC 6', 'ETH 6'])
    expect(result).toMatchObject({ bars: 9, recorded: 5, known: 0, withoutVerdict: [] })
  })

  test('funding that settles as a bar closes counts for that bar', async () => {
    const { engine } = await run([batch(0, 'live', [BTC], 0.001)])
    expect(engine.heard.slice(0, 2)).toEqual(['funding BTC 0.001', 'SIM.BTC.1m 0'])
  })

  test('series that nobody asked for are passed over; short ones are named at the end; slots are freed', async () => {
    const { engine, result } = await run([batch(0, 'live', [BTC, ETH])], [BTC])
    expect(engine.heard).toEqual(['SIM.BTC.1m 0', 'close 0'])
    expect(result.withoutVerdict).toEqual(['SIM.BTC.1m'])
  })

  test('a feed that fails ends the run with its error, after freeing the slots', async () => {
    const engine = fakeEngine()
    const failing = (async function* (): AsyncGenerator<BarBatch> {
      yield batch(0, 'live', [BTC])
      throw new Error('damaged')
    })()
    const running = runEngine({
      engine,
      series: [BTC],
      recorder: { record: async () => [], trouble: () => undefined },
      batches: failing,
    })
    await expect(running).rejects.toThrow('damaged')
    expect(engine.heard.at(-1)).toBe('close 0')
  })
})
