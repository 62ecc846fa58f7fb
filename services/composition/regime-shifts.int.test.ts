import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/candle.ts'
import { RegimeShifted, VerdictRecorded } from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import type { Regime } from '../../contracts/regime.ts'
import { type Series, seriesName } from '../../contracts/series.ts'
import { verdictStream } from '../../contracts/streams.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { shiftedFrom, type Verdict, verdictSchema } from '../../contracts/verdict.ts'
import { type Fact, fold, given } from '../../projections/given-events.fixture.ts'
import { type RegimeShift, regimeShifts } from '../../projections/index.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { createRecorder, loadModel, SeriesEngine, type VerdictDraft } from '../engine/index.ts'
import { collect } from '../log/event-store.contract.ts'
import { createSimulatedFeed } from '../market/index.ts'
import { isDataAbsent, readCandles, whenPresent } from '../market/testing/recorded-data.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'

const YEAR = 8_766
const T0 = Date.UTC(2025, 0, 1)
const META = { correlationId: 'test', actor: 'engine' }

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

/** The log as releases wrote it that recorded each shift beside its verdict. */
function formerLog(series: Series, drafts: readonly VerdictDraft[]): Fact[] {
  const stream = verdictStream(series)
  const FormerVerdict = {
    ...VerdictRecorded,
    schema: 1,
    data: verdictSchema.omit({ previous: true, recordedLate: true }),
  }
  let prior: Regime | undefined
  return drafts.flatMap((draft) => {
    const { exchange, coin, timeframe, barClose, regime, confidence } = draft
    const verdictId = idOf.at(barClose, 'verdict', seriesName(series), String(barClose))
    const recorded = newEvent(FormerVerdict, { id: verdictId, data: { ...draft, verdictId }, meta: META })
    const before = prior
    prior = regime
    if (before === undefined || before === regime) return [{ stream, event: recorded }]
    const data = { exchange, coin, timeframe, verdictId, barClose, regime, priorRegime: before, confidence }
    const id = idOf.at(barClose, 'regime-shift', seriesName(series), String(barClose))
    return [recorded, newEvent(RegimeShifted, { id, data, meta: META })].map((event) => ({ stream, event }))
  })
}

/** The log as it is recorded now, the first so many verdicts by a release before. */
async function newLog(series: Series, drafts: readonly VerdictDraft[], former: number): Promise<Fact[]> {
  const store = openMemoryStore({ now: () => T0 })
  const stream = verdictStream(series)
  const old = formerLog(series, drafts.slice(0, former)).map(({ event }) => event)
  for (let at = 0; at < old.length; at += 200) {
    const expected = at === 0 ? 'no-stream' : at - 1
    await store.append(stream, old.slice(at, at + 200), { expected })
  }
  const recorder = createRecorder({
    store,
    idOf,
    sleep: async () => undefined,
    signal: new AbortController().signal,
  })
  await recorder.record(series, drafts.slice(former))
  return (await collect(store.read(stream))).map(({ id, type, schema, data, meta }) => ({
    stream,
    event: { id, type, schema, data, meta },
  }))
}

type Told = Pick<RegimeShift, 'barClose' | 'priorRegime' | 'regime' | 'verdictId'>

const textOf = ({ barClose, priorRegime, regime, verdictId }: Told): string =>
  `${barClose} ${priorRegime} ${regime} ${verdictId}`

const told = (facts: readonly Fact[]): string[] =>
  facts.flatMap(({ event: { type, data } }) =>
    type === 'RegimeShifted' ? [textOf(data as unknown as Told)] : [],
  )

const derived = (facts: readonly Fact[]): string[] =>
  Object.values(fold(regimeShifts, given(...facts)))
    .flatMap((row) => (row.kind === 'shift' ? [row] : []))
    .toSorted((a, b) => a.barClose - b.barClose)
    .map(
      ({ barClose, priorRegime, regime, verdictId }) => `${barClose} ${priorRegime} ${regime} ${verdictId}`,
    )

const said = (facts: readonly Fact[]): string[] =>
  facts.flatMap(({ event: { type, schema, data } }) => {
    if (type !== 'VerdictRecorded' || schema === 1) return []
    const verdict = data as Verdict
    const priorRegime = shiftedFrom(verdict)
    return priorRegime === undefined ? [] : [textOf({ ...verdict, priorRegime })]
  })

async function expectSame(series: Series, bars: readonly Candle[]): Promise<void> {
  const drafts = verdictsOf(series, bars)
  const former = formerLog(series, drafts)
  const expected = told(former)
  expect(expected.length).toBeGreaterThan(50)
  expect(derived(former)).toEqual(expected)
  const half = Math.floor(drafts.length / 2)
  const changed = await newLog(series, drafts, half)
  expect(derived(changed)).toEqual(expected)
  // Each is told once: by the event of its own up to the change, by its verdict from there on.
  expect([...told(changed), ...said(changed)]).toEqual(expected)
  const fresh = await newLog(series, drafts, 0)
  expect(told(fresh)).toEqual([])
  expect(said(fresh)).toEqual(expected)
  expect(derived(fresh)).toEqual(expected)
}

describe('the shifts of a year are the same from verdicts alone as they were recorded', () => {
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
