import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeEvent } from '../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../contracts/position.ts'
import { verdictStream } from '../../contracts/streams.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { CALLS } from '../../contracts/verdict.ts'
import {
  appendFacts,
  challengerVerdict,
  type Fact,
  nextFactId,
  outcomeLabelled,
  verdictRecorded,
  verdictsMissing,
} from '../../projections/given-events.fixture.ts'
import { startWireDouble } from '../../testing/eventstoredb-double/wire-double.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { archive } from '../log/embedded/archived-log.fixture.ts'
import { logFile, openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { openEventStoreDbStore } from '../log/eventstoredb/eventstoredb-store.ts'
import { followVerdicts } from './follow-verdicts.ts'
import { matchingVerdicts } from './matching-verdicts.ts'
import { AT_START, createLook, formatCursor, parseCursor, type ReplayCursor } from './replay-cursor.ts'
import { isCallAsked, matchesFilter, type ReplayFilter } from './replay-filter.ts'
import { replayVerdicts } from './replay-verdicts.ts'

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
/** Events of one bar of a series: its verdict, alone or with others. */
const step = fc.record({
  series: fc.nat(SERIES.length - 1),
  bars: fc.constantFrom(1, 1, 1, 1, 2, 9),
  window: fc.nat(40),
  call: fc.constantFrom(...CALLS),
  beside: fc.constantFrom('nothing', 'nothing', 'missing', 'outcome', 'challenger'),
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
  pages: fc.array(fc.record({ limit: fc.integer({ min: 1, max: 20 }), minutes: fc.nat(30) }), {
    minLength: 1,
    maxLength: 8,
  }),
  /** How much of the log was there when its streams were listed, and of the log as it was. */
  listed: fc.double({ min: 0, max: 1, noNaN: true }),
  asOf: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
})

type Drawn = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type Step = Omit<Drawn, 'bars'> & { readonly bars: number }

function factsOf(steps: readonly Step[]): Fact[] {
  const bars = new Map<number, number>()
  return steps.flatMap(({ series: at, bars: further, window, call, beside }) => {
    const series = SERIES[at] ?? expect.fail('no such series')
    const barMs = timeframeMs(series.timeframe)
    const barClose = (bars.get(at) ?? START_MS) + further * barMs
    bars.set(at, barClose)
    const about = {
      ...series,
      barClose,
      validUntil: barClose + window * 60_000,
      call,
      verdictId: nextFactId(),
    }
    const verdict = verdictRecorded(about)
    const missing = { ...verdictsMissing('no_bars', 1), stream: verdictStream(series) }
    if (beside === 'missing') return [{ ...missing, event: { ...missing.event, id: nextFactId() } }, verdict]
    if (beside === 'outcome')
      return [verdict, outcomeLabelled({ ...series, barClose, verdictId: nextFactId(), decidedAt: barClose })]
    if (beside === 'challenger') return [verdict, challengerVerdict({ ...about, verdictId: nextFactId() })]
    return [verdict]
  })
}

interface Page {
  readonly filter: ReplayFilter
  readonly after: ReplayCursor
  readonly upTo: Position
  readonly limit: number
  readonly now: number
}

/** The replay by its definition: a scan of the whole log. */
async function byScan(store: EventStore, { filter, after, upTo, limit, now }: Page): Promise<string[][]> {
  const shown: string[][] = []
  for (let from: ReplayCursor | undefined = after; from !== undefined; ) {
    const look = createLook(from, now)
    for await (const recorded of store.readAll({ after: look.readAfter, upTo })) {
      const event = decodeEvent(recorded)
      if (event.type !== 'VerdictRecorded' || !matchesFilter(filter, event.data)) continue
      const cursor = look.offer(event.position, event.data.validUntil)
      if (look.isHeldUp()) return shown
      if (cursor === undefined || !isCallAsked(filter, event.data)) continue
      if (shown.push([event.data.verdictId, formatCursor(cursor)]) === limit) return shown
    }
    from = from.second === undefined ? undefined : look.end()
  }
  return shown
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
    kind: 'an embedded log whose contents are archived',
    runs: 8,
    async open(facts) {
      const directory = mkdtempSync(join(tmpdir(), 'matching-'))
      const before = await openEmbeddedStore({ directory, now: () => 0 })
      await appendFacts(before, ...facts)
      await before.close()
      await archive(logFile(directory))
      const store = await openEmbeddedStore({ directory, now: () => 0 })
      const close = () => store.close().then(() => rmSync(directory, { recursive: true }))
      return { store, close }
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
      fc.asyncProperty(drawn, async ({ steps, filter, pages, listed, asOf }) => {
        const facts = factsOf(steps)
        const { store, close } = await open(facts, listed)
        try {
          const all: Position[] = []
          for await (const { position } of store.readAll()) all.push(position)
          const upTo =
            asOf === undefined ? await store.head() : (all[Math.floor(asOf * all.length) - 1] ?? 'start')
          let after = AT_START
          let now = START_MS + 20 * 60_000
          for (const { limit, minutes } of pages) {
            const page: Page = { filter: filter as ReplayFilter, after, upTo, limit, now }
            const rows: string[][] = []
            for await (const row of replayVerdicts(store, { ...page, signal }))
              rows.push([row.verdict_id, row.cursor])
            expect(rows).toEqual(await byScan(store, page))
            after = parseCursor(rows.at(-1)?.[1] ?? '') ?? after
            now += minutes * 60_000
          }
        } finally {
          await close()
        }
      }),
      { numRuns: runs },
    )
  })
})

describe('a filter by call', () => {
  const OTHER = { BUY: 'SELL', SELL: 'HOLD', HOLD: 'BUY' } as const

  test('tells nothing of the calls of verdicts that are withheld', async () => {
    const shownOf = async (facts: Fact[], filter: ReplayFilter, now: number, limit: number) => {
      const store = openMemoryStore({ now: () => 0 })
      await appendFacts(store, ...facts)
      const told: unknown[] = []
      const search = {
        events: 1e9,
        onEnd: (one: unknown) => told.push(one),
        onNothing: (at: number) => told.push(at),
      }
      const options = { filter, after: AT_START, limit, now, signal, search }
      for await (const { cursor } of replayVerdicts(store, options)) told.push(cursor)
      const ending = new AbortController()
      const rest = async () => new Promise<void>((resolve) => setImmediate(resolve))
      const tail = followVerdicts(store, { ...options, now: () => now, sleep: rest, signal: ending.signal })
      let quiet = 0
      for await (const item of tail) {
        if (item.kind === 'verdict') told.push(item.row.cursor)
        else if (++quiet === 2) break
      }
      ending.abort()
      return told
    }
    await fc.assert(
      fc.asyncProperty(drawn, fc.nat(60), async ({ steps, filter, pages }, minutes) => {
        const now = START_MS + minutes * 60_000
        const facts = factsOf(steps)
        const others = facts.map(({ stream, event }) => {
          const { validUntil, call } = event.data as { validUntil?: number; call?: keyof typeof OTHER }
          if (event.type !== 'VerdictRecorded' || call === undefined || (validUntil ?? 0) <= now)
            return { stream, event }
          return { stream, event: { ...event, data: { ...event.data, call: OTHER[call] } } }
        })
        const asked = { ...(filter as ReplayFilter), calls: ['BUY'] as const }
        const limit = pages[0]?.limit ?? 1
        expect(await shownOf(others, asked, now, limit)).toEqual(await shownOf(facts, asked, now, limit))
      }),
      { numRuns: 100 },
    )
  })
})

describe('a filter that matches few verdicts', () => {
  const counted = async (filter: ReplayFilter, bars: number, beside: Step['beside'] = 'outcome') => {
    const inner = openMemoryStore({ now: () => 0 })
    const facts = Array.from({ length: bars * SERIES.length }, (_, n) => ({
      series: n % SERIES.length,
      bars: 1,
      window: 1,
      call: 'HOLD' as const,
      beside,
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
    for await (const _ of matchingVerdicts(store, { filter, after: 'start', upTo, signal })) rows += 1
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

  test('a few bars in the middle are found in few looks where other events lie between the verdicts', async () => {
    const filter: ReplayFilter = { timeframes: ['1m'], from: late, to: late + 60_000 }
    const found = await counted(filter, 2_000, 'missing')
    expect(found.rows).toBe(4)
    expect(found.read).toBeLessThan(80)
  })

  test('positions come in order, whatever the bars', async () => {
    const store = openMemoryStore({ now: () => 0 })
    await appendFacts(
      store,
      ...factsOf(
        Array.from({ length: 60 }, (_, n) => ({
          series: (n * 7) % 8,
          bars: 1 + (n % 3),
          window: 1,
          call: 'BUY' as const,
          beside: 'nothing' as const,
        })),
      ),
    )
    const positions: Position[] = []
    const options = { filter: { from: START_MS }, after: 'start', upTo: await store.head(), signal }
    for await (const { position } of matchingVerdicts(store, options)) positions.push(position)
    expect(positions).toHaveLength(60)
    expect(positions).toEqual(positions.toSorted(comparePositions))
  })
})
