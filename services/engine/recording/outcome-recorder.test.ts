import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import { type Outcome, outcomeSchema } from '../../../contracts/domain/outcome.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { outcomeStream } from '../../../contracts/events/streams.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { collect } from '../../log/event-store.contract.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { VerdictDraft } from '../engine.ts'
import { aDraft, failingAppends, recordingOver } from '../testing/recording.fixture.ts'
import { createOutcomeRecorder, type OutcomeRecorder } from './outcome-recorder.ts'
import { createRecorder, type Recorded, type Recorder } from './recorder.ts'

const T0 = Date.UTC(2025, 0, 1)
const WINDOW = 8
const series: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }

const openStore = (): EventStore => openMemoryStore({ now: () => T0 })

interface Parts {
  readonly recorder: Recorder
  readonly outcomes: OutcomeRecorder
  readonly waited: number[]
  readonly labelled: Outcome[]
}
function partsOn(store: EventStore): Parts {
  const waited: number[] = []
  const labelled: Outcome[] = []
  const recording = { ...recordingOver(store), sleep: async (ms: number) => void waited.push(ms) }
  const onLabelled = (given: readonly Outcome[]): void => void labelled.push(...given)
  return {
    recorder: createRecorder(recording),
    outcomes: createOutcomeRecorder({ ...recording, onLabelled }),
    waited,
    labelled,
  }
}

/** The verdict at the close of the bar of an hour, valid for eight more; its barriers are 1 % away. */
function draft(hour: number, change: Partial<VerdictDraft> = {}): VerdictDraft {
  const barClose = T0 + (hour + 1) * HOUR_MS
  const window = { barClose, validUntil: barClose + WINDOW * HOUR_MS, barrier: 0.01 }
  return aDraft({ ...series, ...window, ...change })
}
const hours = <Item>(from: number, to: number, make: (hour: number) => Item): Item[] =>
  Array.from({ length: to - from }, (_, index) => make(from + index))

/** A bar that touches nothing, unless it is to. */
const bar = (hour: number, change: Partial<Candle> = {}): Candle => ({
  openTime: T0 + hour * HOUR_MS,
  open: 100,
  high: 100.1,
  low: 99.9,
  close: 100,
  volume: 1,
  ...change,
})
const touching: Readonly<Record<string, Partial<Candle>>> = {
  up: { high: 101.5 },
  down: { low: 98.5 },
  both: { high: 101.5, low: 98.5 },
}

/** Records and labels hour by hour, as a live market does. */
async function live(
  { recorder, outcomes }: Parts,
  from: number,
  to: number,
  ends: Record<number, string> = {},
) {
  for (let hour = from; hour < to; hour++) {
    const recorded = await recorder.record(series, [draft(hour)])
    await outcomes.label(series, [bar(hour, touching[ends[hour] ?? ''])], recorded)
  }
}

const stored = (store: EventStore) => collect(store.read(outcomeStream(series)))
const races = async (store: EventStore): Promise<string[]> =>
  (await stored(store)).map(({ data }) => {
    const { barClose, race } = outcomeSchema.parse(data)
    return `${(barClose - T0) / HOUR_MS - 1} ${race}`
  })
const recordedOnly = async (store: EventStore, from: number, to: number): Promise<Recorded> =>
  await partsOn(store).recorder.record(series, hours(from, to, draft))

describe('a series whose bars have ended', () => {
  test('gets the outcomes of windows that have closed: decided ones stand, the others are incomplete', async () => {
    const store = openStore()
    const parts = partsOn(store)
    await live(parts, 0, 5, { 3: 'up' })
    expect(await parts.outcomes.conclude(series, T0 + 11 * HOUR_MS)).toBe(3)
    expect(await races(store)).toEqual(['0 up', '1 up', '2 up'])
    expect(await parts.outcomes.conclude(series, T0 + 24 * HOUR_MS)).toBe(2)
    expect((await races(store)).slice(3)).toEqual(['3 incomplete', '4 incomplete'])
  })

  test('is concluded from the log where nothing was known of it, however many are open', async () => {
    const store = openStore()
    await recordedOnly(store, 0, 450)
    const { outcomes } = partsOn(store)
    expect(await outcomes.conclude(series, T0 + (440 + WINDOW + 1) * HOUR_MS)).toBe(441)
    expect(await outcomes.conclude(series, T0 + 1_000 * HOUR_MS)).toBe(9)
    expect(await outcomes.conclude(series, T0 + 1_000 * HOUR_MS)).toBe(0)
    expect(new Set((await races(store)).map((race) => race.split(' ')[1]))).toEqual(new Set(['incomplete']))
  })

  test('that trades again goes on with its later verdicts', async () => {
    const store = openStore()
    const parts = partsOn(store)
    await live(parts, 0, 3)
    await parts.outcomes.conclude(series, T0 + 30 * HOUR_MS)
    await live(parts, 40, 49, { 42: 'down' })
    expect((await races(store)).slice(3)).toEqual(['40 down'])
  })
})

describe('labelling', () => {
  test('waits for the close of the window, then says what became of the verdict', async () => {
    const store = openStore()
    const parts = partsOn(store)
    await live(parts, 0, 8, { 3: 'up' })
    expect(await stored(store)).toEqual([])
    await live(parts, 8, 9)
    const [event, ...others] = await stored(store)
    expect(others).toEqual([])
    const verdict = (await collect(store.read('verdict-SIM.BTC.1h')))[0]
    const { barClose, validUntil, verdictId, modelVersion, call, probability, forecast } = verdict?.data ?? {}
    expect(event?.data).toEqual({
      ...series,
      verdictId,
      barClose,
      validUntil,
      modelVersion,
      call,
      probability,
      barrier: 0.01,
      race: 'up',
      entryPrice: 100,
      exitPrice: 101,
      decidedAt: T0 + 4 * HOUR_MS,
      forecast,
      closePrice: 100,
      recordedLate: false,
      barsMissed: 0,
      highest: expect.closeTo(0.015, 12),
      lowest: expect.closeTo(-0.001, 12),
    })
    expect(event?.meta).toMatchObject({
      correlationId: verdict?.meta.correlationId,
      causationId: verdictId,
      actor: 'engine',
    })
    expect(parts.labelled).toEqual([event?.data])
  })

  test('labels every verdict, in the order of the bars, with every end a race can have', async () => {
    const store = openStore()
    await live(partsOn(store), 0, 40, { 9: 'up', 20: 'down', 25: 'both' })
    const expected = hours(0, 32, (hour) => {
      const firstTouched = [9, 20, 25].find((at) => at > hour && at <= hour + WINDOW)
      const race = new Map([
        [9, 'up'],
        [20, 'down'],
        [25, 'both'],
      ]).get(firstTouched ?? -1)
      return `${hour} ${race ?? 'timeout'}`
    })
    expect(await races(store)).toEqual(expected)
  })

  test('a missing bar leaves the races that needed it incomplete, and no others', async () => {
    const store = openStore()
    const parts = partsOn(store)
    await live(parts, 0, 20, { 13: 'up' })
    await live(parts, 21, 40)
    // Bar 20 is missing: it was needed by 12 to 19, except by those that bar 13 decided.
    const lines = await races(store)
    expect(lines.filter((line) => line.endsWith('incomplete'))).toEqual(
      hours(13, 20, (hour) => `${hour} incomplete`),
    )
    expect(lines).toHaveLength(31)
  })

  test('a window keeps the length it was recorded with, and no outcome overtakes another', async () => {
    const store = openStore()
    const { recorder, outcomes } = partsOn(store)
    const short = draft(1)
    const recorded = await recorder.record(series, [
      draft(0),
      { ...short, validUntil: short.barClose + 2 * HOUR_MS },
    ])
    await outcomes.label(series, hours(1, 8, bar), recorded)
    expect(await races(store)).toEqual([])
    await outcomes.label(series, [bar(8)])
    expect(await races(store)).toEqual(['0 timeout', '1 timeout'])
    expect((await stored(store)).map(({ data }) => data.validUntil)).toEqual([
      T0 + 9 * HOUR_MS,
      T0 + 4 * HOUR_MS,
    ])
  })
})

describe('after a restart', () => {
  test('open verdicts are found in the log and labelled once, from the history bars', async () => {
    const store = openStore()
    await live(partsOn(store), 0, 20, { 11: 'up' })
    const before = await races(store)
    const restarted = partsOn(store)
    expect(
      await restarted.outcomes.label(
        series,
        hours(5, 30, (hour) => bar(hour)),
      ),
    ).toBe(8)
    expect(restarted.labelled).toHaveLength(8)
    const reference = openStore()
    await live(partsOn(reference), 0, 28, { 11: 'up' })
    expect(await races(store)).toEqual(await races(reference))
    expect((await races(store)).slice(0, before.length)).toEqual(before)
  })

  test('verdicts whose bars are not to be had any more are labelled incomplete', async () => {
    const store = openStore()
    await recordedOnly(store, 0, 20)
    await partsOn(store).outcomes.label(series, hours(15, 30, bar))
    expect(await races(store)).toEqual(
      hours(0, 20, (hour) => `${hour} ${hour < 14 ? 'incomplete' : 'timeout'}`),
    )
  })

  test('an old log without outcomes is labelled whole, page by page', async () => {
    const store = openStore()
    await recordedOnly(store, 0, 900)
    let [reads, most] = [0, 0]
    const counting: EventStore = {
      ...store,
      async *read(stream, options) {
        let count = 0
        for await (const event of store.read(stream, options)) {
          count += 1
          yield event
        }
        if (stream.startsWith('verdict-')) [reads, most] = [reads + 1, Math.max(most, count)]
      },
    }
    const { outcomes } = partsOn(counting)
    for (const chunk of hours(0, 91, (n) => n * 10))
      await outcomes.label(series, hours(chunk, chunk + 10, bar))
    expect(await races(store)).toEqual(hours(0, 900, (hour) => `${hour} timeout`))
    expect(most).toBeLessThanOrEqual(200)
    expect(reads).toBeLessThan(20)
  })

  test('an old log is labelled at the first bar, where only that one is to be had', async () => {
    const store = openStore()
    await recordedOnly(store, 0, 900)
    const { outcomes } = partsOn(store)
    expect(await outcomes.label(series, [bar(2_000)])).toBe(900)
    expect(new Set((await stored(store)).map(({ data }) => data.race))).toEqual(new Set(['incomplete']))
  })
})

describe('how far back bars are needed', () => {
  const now = T0 + 20_000 * HOUR_MS
  const ask = (store: EventStore, at = now) => partsOn(store).outcomes.historyFrom([series], at)

  test('is nothing where no verdict is open, or where the bars of the warm-up are enough', async () => {
    expect(await ask(openStore())).toBeUndefined()
    const store = openStore()
    await recordedOnly(store, 0, 5)
    expect(await ask(store, T0 + (LIMITS.warmUpBars + 1) * HOUR_MS)).toBeUndefined()
    await partsOn(store).outcomes.label(series, [bar(100)])
    expect(await ask(store)).toBeUndefined()
  })

  test('is the entry of the oldest open race, within the limit', async () => {
    const minutes: Series = { ...series, timeframe: '1m' }
    const store = openStore()
    const at = { ...minutes, barClose: T0, validUntil: T0 + 15 * 60_000 }
    await partsOn(store).recorder.record(minutes, [draft(0, at), draft(1, { ...at, barClose: T0 + 60_000 })])
    const from = (days: number) =>
      partsOn(store).outcomes.historyFrom([series, minutes], T0 + days * 24 * HOUR_MS)
    expect(await from(2)).toBe(T0)
    expect(await from(30)).toBe(T0 + 30 * 24 * HOUR_MS - LIMITS.outcomeBackfillMs)
  })
})

describe('two processes on one log', () => {
  test('label every verdict once between them, also those the other one recorded', async () => {
    const store = openStore()
    const [one, two] = [partsOn(store), partsOn(store)]
    await Promise.all([live(one, 0, 60, { 17: 'down' }), live(two, 0, 60, { 17: 'down' })])
    const reference = openStore()
    await live(partsOn(reference), 0, 60, { 17: 'down' })
    expect(await races(store)).toEqual(await races(reference))
    expect(one.labelled.length + two.labelled.length).toBe(52)
  })

  test('keep what the first one appended, where they saw other bars', async () => {
    const store = openStore()
    const [one, two] = [partsOn(store), partsOn(store)]
    await live(one, 0, 20)
    await two.outcomes.label(series, [bar(18)])
    await one.outcomes.label(series, [bar(20)])
    // For the other process, everything open lacks bars; the oldest outcome of those is there already.
    await two.outcomes.label(series, [bar(40)])
    expect(await races(store)).toEqual(
      hours(0, 20, (hour) => `${hour} ${hour < 13 ? 'timeout' : 'incomplete'}`),
    )
  })

  test('verdicts of another process reach the races, from where this one stands', async () => {
    const store = openStore()
    const ours = partsOn(store)
    await live(ours, 0, 5)
    await recordedOnly(store, 5, 8)
    await live(ours, 5, 20)
    expect(await races(store)).toEqual(hours(0, 12, (hour) => `${hour} timeout`))
  })

  test('a verdict that another process recorded late is run over the bars that came by already', async () => {
    const store = openStore()
    const ours = partsOn(store)
    await live(ours, 0, 5)
    await ours.outcomes.label(series, hours(5, 8, bar))
    await recordedOnly(store, 5, 8)
    await live(ours, 8, 20)
    expect(await races(store)).toEqual(hours(0, 12, (hour) => `${hour} timeout`))
  })
})

describe('a store in trouble', () => {
  test('is waited out when verdicts are looked for and when outcomes are appended', async () => {
    const inner = openStore()
    await recordedOnly(inner, 0, 3)
    let reads = 2
    const store: EventStore = {
      ...failingAppends(inner, [{ after: 'append_unknown' }, { after: 'append_unknown' }]),
      read(...args) {
        if (reads-- > 0) throw new ServiceError('store_unavailable')
        return inner.read(...args)
      },
    }
    const { outcomes, waited } = partsOn(store)
    expect(await outcomes.label(series, hours(0, 12, bar))).toBe(3)
    expect(await races(inner)).toEqual(hours(0, 3, (hour) => `${hour} timeout`))
    expect(waited).toEqual([50, 200, 50, 200])
    expect(outcomes.problem()).toBeUndefined()
  })
})
