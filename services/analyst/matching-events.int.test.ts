import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type VerdictRow, verdictRow } from '../../contracts/answers/verdict-row.ts'
import type { Outcome } from '../../contracts/domain/outcome.ts'
import { timeframeMs } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { CALLS, type Verdict } from '../../contracts/domain/verdict.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { comparePositions, type Position } from '../../contracts/infra/position.ts'
import {
  appendFacts,
  type Fact,
  nextFactId,
  outcomeOf,
  verdictRecorded,
} from '../../projections/given-events.fixture.ts'
import { startWireDouble } from '../../testing/eventstoredb-double/wire-double.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { openEventStoreDbStore } from '../log/eventstoredb/eventstoredb-store.ts'
import { matchingEvents } from './matching-events.ts'
import { matchesFilter, type ReplayFilter } from './replay-filter.ts'
import { replayVerdicts } from './replay-verdicts.ts'
import { cursorAt, positionOfCursor } from './shown-rows.ts'

const { signal } = new AbortController()
const START_MS = Date.UTC(2026, 0, 5)
const SERIES = (['SIM', 'HL'] as const).flatMap((exchange) =>
  ['BTC', 'ETH'].flatMap((coin) =>
    (['1m', '3m'] as const).map((timeframe) => ({ exchange, coin, timeframe })),
  ),
)
const part = <Item>(items: readonly Item[]) =>
  fc.option(fc.array(fc.constantFrom(...items), { minLength: 1, maxLength: 3 }), { nil: undefined })
const instant = fc.option(
  fc.integer({ min: -2, max: 130 }).map((minutes) => START_MS + minutes * 60_000),
  { nil: undefined, freq: 2 },
)
/** Events of one bar of a series: its verdict, alone or with others, and outcomes that became due. */
const step = fc.record({
  series: fc.nat(SERIES.length - 1),
  bars: fc.constantFrom(1, 1, 1, 1, 2, 9),
  call: fc.constantFrom(...CALLS),
  outcomes: fc.nat(2),
})
const drawn = fc.record({
  steps: fc.array(step, { maxLength: 90, size: 'max' }),
  filter: fc.record({
    exchanges: part(['SIM', 'HL', 'OKX'] as const),
    coins: part(['BTC', 'ETH', 'SOL']),
    timeframes: part(['1m', '3m', '1h'] as const),
    calls: part(CALLS),
    from: instant,
    to: instant,
  }),
  pages: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 }),
  /** How much of the log was there when its streams were listed, and of the log as it was. */
  listed: fc.double({ min: 0, max: 1, noNaN: true }),
  withOpen: fc.boolean(),
  asOf: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
})

type Drawn = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type Step = Omit<Drawn, 'bars'> & { readonly bars: number }

function factsOf(steps: readonly Step[]): Fact[] {
  const bars = new Map<number, number>()
  const open = new Map<number, Verdict[]>()
  return steps.flatMap(({ series: at, bars: further, call, outcomes }) => {
    const series = SERIES[at] ?? expect.fail('no such series')
    const barMs = timeframeMs(series.timeframe)
    const barClose = (bars.get(at) ?? START_MS) + further * barMs
    bars.set(at, barClose)
    const about = aVerdict({
      ...series,
      barClose,
      validUntil: barClose + 8 * barMs,
      call,
      verdictId: nextFactId(),
    })
    const verdicts = open.get(at) ?? []
    open.set(at, [...verdicts.slice(outcomes), about])
    const due = verdicts
      .slice(0, outcomes)
      .map((verdict) => outcomeOf(verdict, { decidedAt: verdict.barClose }))
    return [...due, verdictRecorded(about)]
  })
}

interface Page {
  readonly filter: ReplayFilter
  readonly after: Position
  readonly upTo: Position
  readonly limit: number
  readonly withOpen: boolean
}

/** The replay by its definition: a scan of the whole log. */
async function byScan(
  store: EventStore,
  { filter, after, upTo, limit, withOpen }: Page,
): Promise<VerdictRow[]> {
  const verdicts = new Map<string, { verdict: Verdict; position: Position; at: string }>()
  const outcomes = new Map<string, { outcome: Outcome; position: Position }>()
  for await (const recorded of store.readAll({ upTo })) {
    const { type, data, position, at } = decodeEvent(recorded)
    if (type === 'VerdictRecorded') verdicts.set(data.verdictId, { verdict: data, position, at })
    if (type === 'OutcomeLabelled') outcomes.set(data.verdictId, { outcome: data, position })
  }
  const rows = [...(withOpen ? verdicts : outcomes)].flatMap(([id, { position }]) => {
    const { verdict, at } = verdicts.get(id) ?? expect.fail('an outcome without a verdict')
    if (comparePositions(position, after) <= 0 || !matchesFilter(filter, verdict)) return []
    return [verdictRow(verdict, cursorAt(position), at, outcomes.get(id)?.outcome)]
  })
  return rows.slice(0, limit)
}

interface Opened {
  readonly store: EventStore
  readonly close: () => Promise<void>
}

/** Lists only the streams that began up to a place, as a read model does that has come so far. */
const listedUpTo = (
  store: EventStore,
  facts: readonly Fact[],
  share: number,
  all: readonly Position[],
): EventStore => {
  const count = Math.floor(share * facts.length)
  const names = [...new Set(facts.slice(0, count).map(({ stream }) => stream))]
  const streams = (prefix: string) => ({
    names: names.filter((name) => name.startsWith(prefix)),
    upTo: all[count - 1] ?? 'start',
  })
  return { ...store, streams }
}

const KINDS: readonly {
  kind: string
  runs: number
  open: (facts: Fact[], listed: number) => Promise<Opened>
}[] = [
  {
    kind: 'a log that lists its streams',
    runs: 400,
    async open(facts) {
      const store = openMemoryStore({ now: () => 0 })
      await appendFacts(store, ...facts)
      return { store, close: () => store.close() }
    },
  },
  {
    kind: 'a log beside a read model that lists its streams',
    runs: 400,
    async open(facts, listed) {
      const store = openMemoryStore({ now: () => 0 })
      await appendFacts(store, ...facts)
      const all = facts.map((_, index) => String(index + 1))
      return { store: listedUpTo(store, facts, listed, all), close: () => store.close() }
    },
  },
  {
    kind: 'a log that lists no streams',
    runs: 200,
    async open(facts) {
      const store: EventStore = { ...openMemoryStore({ now: () => 0 }), streams: () => undefined }
      await appendFacts(store, ...facts)
      return { store, close: () => store.close() }
    },
  },
  {
    kind: 'EventStoreDB, beside a read model that lists its streams',
    runs: 6,
    async open(facts, listed) {
      const double = await startWireDouble()
      const store = openEventStoreDbStore({ connectionString: double.connectionString })
      await appendFacts(store, ...facts)
      const all: Position[] = []
      for await (const { position } of store.readAll()) all.push(position)
      return {
        store: listedUpTo(store, facts, listed, all),
        close: () => store.close().then(() => double.stop()),
      }
    },
  },
]

describe.each(KINDS)('over $kind', ({ runs, open }) => {
  test('a filter shows what reading the whole log shows, page by page', async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async ({ steps, filter, pages, listed, withOpen, asOf }) => {
        const facts = factsOf(steps)
        const { store, close } = await open(facts, listed)
        try {
          const all: Position[] = []
          for await (const { position } of store.readAll()) all.push(position)
          const upTo =
            asOf === undefined ? await store.head() : (all[Math.floor(asOf * all.length) - 1] ?? 'start')
          let after: Position = 'start'
          for (const limit of pages) {
            const page: Page = { filter: filter as ReplayFilter, after, upTo, limit, withOpen }
            const rows = await Array.fromAsync(replayVerdicts(store, { ...page, signal }))
            expect(rows).toEqual(await byScan(store, page))
            after = positionOfCursor(rows.at(-1)?.cursor ?? '') ?? after
          }
        } finally {
          await close()
        }
      }),
      { numRuns: runs },
    )
  })
})

describe('a filter that matches few verdicts', () => {
  const counted = async (filter: ReplayFilter, bars: number) => {
    const inner = openMemoryStore({ now: () => 0 })
    const facts = Array.from({ length: bars * SERIES.length }, (_, n) => ({
      series: n % SERIES.length,
      bars: 1,
      call: 'HOLD' as const,
      outcomes: 1,
    }))
    await appendFacts(inner, ...factsOf(facts))
    let read = 0
    async function* seen<Event>(events: AsyncIterable<Event>) {
      for await (const event of events) {
        read += 1
        yield event
      }
    }
    const store: EventStore = {
      ...inner,
      read: (...args) => seen(inner.read(...args)),
      readAll: (options) => seen(inner.readAll(options)),
    }
    const upTo = await store.head()
    let rows = 0
    const options = { type: 'VerdictRecorded', filter, after: 'start', upTo, signal } as const
    for await (const _ of matchingEvents(store, options)) rows += 1
    return { rows, read }
  }
  const late = START_MS + 900 * 60_000

  test.each<[string, ReplayFilter, number]>([
    ['a time to come', { from: late * 2 }, 0],
    ['a time before the log', { to: START_MS }, 0],
    ['an unknown coin', { coins: ['NOPE'] }, 0],
    ['the last bar of a series', { coins: ['BTC'], timeframes: ['1m'], exchanges: ['SIM'], from: late }, 101],
    ['a few bars in the middle', { timeframes: ['1m'], from: late, to: late + 60_000 }, 4],
  ])('%s: the length of the log does not matter', async (_what, filter, rows) => {
    const found = await counted(filter, 1_000)
    expect(found.rows).toBe(rows)
    expect(found.read).toBeLessThan(100 + 3 * rows)
  })

  test('positions come in order, whatever the bars', async () => {
    const store = openMemoryStore({ now: () => 0 })
    await appendFacts(
      store,
      ...factsOf(
        Array.from({ length: 60 }, (_, n) => ({
          series: (n * 7) % 8,
          bars: 1 + (n % 3),
          call: 'BUY' as const,
          outcomes: 1,
        })),
      ),
    )
    const positions: Position[] = []
    const type = 'VerdictRecorded'
    const options = {
      type,
      filter: { from: START_MS },
      after: 'start',
      upTo: await store.head(),
      signal,
    } as const
    for await (const { position } of matchingEvents(store, options)) positions.push(position)
    expect(positions).toHaveLength(60)
    expect(positions).toEqual(positions.toSorted(comparePositions))
  })
})
