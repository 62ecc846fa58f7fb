import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/domain/candle.ts'
import type { Series } from '../../contracts/domain/series.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { shiftedFrom, type Verdict } from '../../contracts/domain/verdict.ts'
import { verdictStream } from '../../contracts/events/streams.ts'
import { type Fact, fold, given } from '../../projections/given-events.fixture.ts'
import { regimeShifts } from '../../projections/index.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { createRecorder, loadModel, SeriesEngine, type VerdictDraft } from '../engine/index.ts'
import { collect } from '../log/event-store.contract.ts'
import { createSimulatedFeed } from '../market/index.ts'
import { isDataAbsent, readCandles, whenPresent } from '../market/testing/recorded-data.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'

const YEAR = 8_766
const T0 = Date.UTC(2025, 0, 1)

/** Every verdict of an hourly series from the bars of a year and its warm-up. */
function verdictsOf(series: Series, bars: readonly Candle[]): VerdictDraft[] {
  const engine = new SeriesEngine({ model: loadModel() })
  const slot = engine.open(series)
  return bars.slice(-YEAR - 1_500).flatMap((bar) => {
    engine.push(slot, bar)
    const reading = engine.read(slot)
    return reading.status === 'verdict' ? [reading.verdict] : []
  })
}

const idOf = createFactIds(Buffer.from('secret'))

/** The events that the recorder appends of drafts. */
async function recordedOf(series: Series, drafts: readonly VerdictDraft[]): Promise<Fact[]> {
  const store = openMemoryStore({ now: () => T0 })
  const stream = verdictStream(series)
  const { signal } = new AbortController()
  await createRecorder({ store, idOf, sleep: async () => undefined, signal }).record(series, drafts)
  return (await collect(store.read(stream))).map(({ id, type, schema, data, meta }) => ({
    stream,
    event: { id, type, schema, data, meta },
  }))
}

async function expectSame(series: Series, bars: readonly Candle[]): Promise<void> {
  const drafts = verdictsOf(series, bars)
  const expected = drafts.flatMap(({ barClose, regime }, index) => {
    const before = drafts[index - 1]?.regime ?? regime
    return before === regime ? [] : [`${barClose} ${before} ${regime}`]
  })
  expect(expected.length).toBeGreaterThan(50)
  const facts = await recordedOf(series, drafts)
  const rows = Object.values(fold(regimeShifts, given(...facts)))
  const found = rows.flatMap((row) => (row.kind === 'shift' ? [row] : []))
  expect(
    found
      .toSorted((a, b) => a.barClose - b.barClose)
      .map(({ barClose, priorRegime, regime }) => `${barClose} ${priorRegime} ${regime}`),
  ).toEqual(expected)
  const said = facts.flatMap(({ event }) => {
    const verdict = event.data as Verdict
    const before = shiftedFrom(verdict)
    return before === undefined ? [] : [`${verdict.barClose} ${before} ${verdict.regime}`]
  })
  expect(said).toEqual(expected)
}

describe('the log tells each shift of a year once', () => {
  test('of a simulated market', async () => {
    const series: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
    const ending = new AbortController()
    const feed = createSimulatedFeed({
      seed: 'a',
      coins: ['BTC'],
      now: () => T0 + (YEAR + 1_500) * HOUR_MS,
      sleepUntil: async () => ending.abort(),
      historyBars: YEAR + 1_500,
    })
    const bars: Candle[] = []
    for await (const batch of feed.batches({ series: [series], signal: ending.signal })) {
      for (const { candle } of batch.bars) bars.push(candle)
      if (batch.phase === 'live') break
    }
    await expectSame(series, bars)
  }, 180_000)

  test.skipIf(isDataAbsent)(
    `of recorded Bitcoin and Ether${whenPresent}`,
    async () => {
      for (const coin of ['BTC', 'ETH']) {
        const bars = await readCandles(`binance-usdm/${coin}USDT-1h`)
        await expectSame({ exchange: 'BINANCE', coin, timeframe: '1h' }, bars)
      }
    },
    180_000,
  )
})
