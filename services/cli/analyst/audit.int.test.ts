import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import type { Exchange, Series } from '../../../contracts/domain/series.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { modelStream } from '../../../contracts/events/streams.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { rowsInMemory, type TrackRecord, trackRecord } from '../../../projections/index.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { trackRecordRow } from '../../analyst/index.ts'
import { type AuditState, audit, type LogSource } from '../../proof/index.ts'
import { signCheckpoint, signerOf } from '../../proof/note.ts'
import { type MadeUpLog, NOW, openMadeUpLog } from '../../proof/testing/made-up-log.fixture.ts'
import { visibleText } from '../kit/output.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'
import {
  barsAnswer,
  DAYS_MS,
  endOf,
  type Fact,
  factIn,
  HOUR_MS,
  isLoser,
  labelled,
  MINUTE_MS,
  MODEL,
  type Recording,
  recorded,
  recordMarket,
  START,
  verdictAt,
  winner,
} from '../testing/recorded-market.fixture.ts'
import { auditTools } from './audit.ts'

const BTC: Series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' }
const ETH: Series = { ...BTC, coin: 'ETH' }
const QUICK: Series = { ...BTC, timeframe: '15m' }
const OTHER: Series = { exchange: 'BYBIT', coin: 'SOL', timeframe: '1h' }
const ALL = [BTC, ETH, QUICK, OTHER]

const opened: MadeUpLog[] = []
/** Kept from one audit to the next. */
let seen: AuditState | undefined
let directory: string
beforeEach(() => {
  seen = undefined
  directory = mkdtempSync(join(tmpdir(), 'audit-'))
})
afterEach(() => {
  for (const log of opened.splice(0)) log.remove()
  rmSync(directory, { recursive: true, force: true })
})

/** A log of these facts that signs all it holds, however it came about. */
async function publish(
  facts: readonly Fact[],
  options: Parameters<typeof openMadeUpLog>[0] = {},
): Promise<MadeUpLog> {
  const log = await openMadeUpLog(options)
  opened.push(log)
  await append(log, facts)
  return log
}
/** Another log under the keys of one, whose newest checkpoint was thrown away. */
async function rewritten(log: MadeUpLog, facts: readonly Fact[]): Promise<MadeUpLog> {
  rmSync(join(log.directory, 'newest-checkpoint'), { force: true })
  return publish(facts, { directory: log.directory })
}
async function append(log: MadeUpLog, facts: readonly Fact[]): Promise<void> {
  for (const { stream, event } of facts) await log.append(stream, [event])
  expect(await log.sign()).toBeUndefined()
}

/** The answers of the service of a log, and its description of itself. */
function serviceOf(log: MadeUpLog): LogSource {
  const views = log.views
  return {
    async get(path) {
      if (path === 'log/checkpoint') return Buffer.from(views.checkpoint())
      if (path.startsWith('log/tile/')) return views.tile(path.slice(4))
      if (path.startsWith('log/contents/'))
        return Buffer.from((await views.contents(path.slice(4), new AbortController().signal)).text)
      if (path.startsWith('api/bars')) return barsAnswer(path)
      const grouping = /^api\/track-record\?group_by=(series|timeframe)$/.exec(path)?.[1]
      if (grouping !== 'series' && grouping !== 'timeframe') return undefined
      const rows = rowsInMemory<TrackRecord>()
      for await (const event of log.store.readAll({ filter: { types: trackRecord.events } }))
        trackRecord.fold(rows, decodeEvent(event))
      const found = [...rows.entries].flatMap(([key, row]) =>
        key.startsWith(grouping) ? [trackRecordRow(row)] : [],
      )
      return Buffer.from(JSON.stringify({ rows: found, next: null }))
    },
  }
}
const instead = (source: LogSource, of: string, other: LogSource): LogSource => ({
  get: (path) => (path.startsWith(of) ? other : source).get(path),
})

async function auditOf(
  log: MadeUpLog,
  {
    source = serviceOf(log),
    tools = auditTools(source),
    keys = log.keys(),
    earlier,
  }: Partial<Pick<Parameters<typeof audit>[0], 'source' | 'tools' | 'keys' | 'earlier'>> = {},
) {
  const report = await audit({ source, keys, earlier, seen, tools })
  const keep = (seenAt = NOW): void => void (seen = { checkpoint: report.checkpoint, seenAt })
  return { ...report, keep }
}
const fraudsOf = ({ counts }: Pick<Awaited<ReturnType<typeof auditOf>>, 'counts'>) => Object.keys(counts)

const isVerdict = ({ event }: Fact): boolean => event.type === 'VerdictRecorded'
const verdictIn = ({ event }: Fact): Verdict => event.data as unknown as Verdict

const honest = (change: Omit<Recording, 'series'> = {}): Fact[] => recordMarket({ series: [BTC], ...change })
const model = (modelVersion: string, sha256 = '8e'.repeat(32)): Fact => {
  const data = { modelVersion, sha256, bytes: 1, role: 'serving' } as const
  return factIn(modelStream(modelVersion), 'ModelAnnounced', data, START)
}
const HOURS = DAYS_MS / HOUR_MS
const closeOf = (hour: number): number => START + hour * HOUR_MS
/** The place of the verdict, or of the outcome, of an hour. */
const placeOf = (facts: readonly Fact[], hour: number, type = 'VerdictRecorded'): number =>
  facts.findIndex(({ event }) => event.type === type && event.data.barClose === closeOf(hour))
const isOutcomeFrom =
  (hour: number) =>
  ({ event }: Fact): boolean =>
    event.type === 'OutcomeLabelled' && Number(event.data.barClose) >= closeOf(hour)
/** Facts with another outcome for the verdict of an hour. */
function withOutcome(facts: readonly Fact[], hour: number, change: Partial<Outcome>): Fact[] {
  const verdict = verdictIn(facts[placeOf(facts, hour)] as Fact)
  return facts.with(
    placeOf(facts, hour, 'OutcomeLabelled'),
    labelled(verdict, NOW, { ...endOf(verdict), ...change }),
  )
}

test('nothing is found in an honest log, also after it has grown; what was not checked is named', async () => {
  const facts = honest()
  const log = await publish(facts.slice(0, 60))
  const first = await auditOf(log)
  expect(first.findings).toEqual([])
  first.keep(first.summary.horizon + HOUR_MS)
  await append(log, facts.slice(60))
  const { findings, summary, recomputed, unchecked } = await auditOf(log)
  expect(findings).toEqual([])
  expect(summary).toMatchObject({ verdicts: HOURS - 8, outcomes: HOURS - 8, hidden: 8, models: 1 })
  expect([recomputed, unchecked]).toEqual([
    HOURS - 8,
    [
      'whether verdicts follow from their bars and model: `signal verify --recompute` computes one again',
      'whether bars are those of the venue: compare some of them with it',
    ],
  ])
})

const XBT: Series = { ...BTC, coin: 'XBT' }
test.each<readonly [string, () => Fact[]]>([
  ['began a minute ago: nothing is shown yet', () => honest().slice(0, 2)],
  [
    'has open windows only',
    () => honest().filter((fact, at) => at === 0 || (isVerdict(fact) && fact.at > closeOf(HOURS - 3))),
  ],
  [
    'was stopped between a verdict and the outcome that was due',
    () => honest().filter((fact) => !isOutcomeFrom(HOURS - 10)(fact)),
  ],
  [
    'has its verdicts from another model since',
    () => [
      model('other-1'),
      ...honest({ alter: (v) => (v.barClose > closeOf(20) ? { ...v, modelVersion: 'other-1' } : v) }),
    ],
  ],
  [
    'follows a coin by another name',
    () =>
      recordMarket({
        series: [BTC, XBT],
        sends: ({ coin }, barClose) => (coin === 'BTC') === barClose <= closeOf(20),
      }),
  ],
])('nothing is found in an honest log that %s, nor when it is audited again', async (_name, facts) => {
  const log = await publish(facts())
  const first = await auditOf(log)
  expect(first.findings).toEqual([])
  first.keep(first.summary.horizon)
  expect((await auditOf(log)).findings).toEqual([])
})

test('late verdicts and bars without one are counted; so are outcomes that lack bars of today', async () => {
  const isAway = (at: number): boolean => at >= closeOf(20) && at < closeOf(25)
  const left = await auditOf(await publish(honest({ sends: (_, barClose) => !isAway(barClose) })))
  expect(left.findings).toEqual([])
  expect([left.lacking > 0, left.summary.missing]).toEqual([true, 5])
  const late = await auditOf(await publish(honest({ isStoreUp: (at) => !isAway(at) })))
  expect([late.findings, late.summary.late > 2]).toEqual([[], true])
})

describe('a log that signs everything correctly is found out when it', () => {
  test.each([
    ['edits an entry', (line: string) => line.replace(/"call":"\w+"/, '"call":"NONE"')],
    ['removes an entry', () => 'null'],
  ])('%s', async (_name, edit) => {
    const facts = honest()
    const log = await publish(facts)
    // The identity of the store is in front of the facts.
    const index = placeOf(facts, 5) + 1
    const source = serviceOf(log)
    const lying: LogSource = {
      async get(path) {
        const bytes = await source.get(path)
        if (!path.startsWith('log/contents/') || bytes === undefined) return bytes
        const lines = bytes.toString().split('\n')
        return Buffer.from(lines.with(index, edit(lines[index] ?? '')).join('\n'))
      },
    }
    const { findings } = await auditOf(log, { source: lying })
    expect(findings).toContainEqual(expect.objectContaining({ fraud: 'edited_verdict', index }))
  })

  test('signs a second history: an entry edited, one put in, the newest taken away', async () => {
    const facts = honest()
    const log = await publish(facts)
    const keys = log.keys()
    ;(await auditOf(log)).keep()
    const edited = { ...verdictIn(facts[placeOf(facts, 5)] as Fact), reasoning: 'It was plain to see.' }
    for (const other of [
      facts.with(placeOf(facts, 5), recorded(edited, 0)),
      facts.toSpliced(placeOf(facts, 5), 0, model(MODEL, '7d'.repeat(32))),
      facts.slice(0, 30),
    ]) {
      const second = await rewritten(log, other)
      expect(fraudsOf(await auditOf(second, { keys }))).toEqual(['second_history'])
    }
  })

  test('signs under another origin', async () => {
    const log = await publish(honest())
    ;(await auditOf(log)).keep()
    const other = await openMadeUpLog({ ...log, origin: 'signals.example.com/better' })
    await other.sign()
    expect(fraudsOf(await auditOf(other))).toEqual(['second_history'])
    // An auditor who never saw the first one reads of it.
    seen = undefined
    expect(fraudsOf(await auditOf(other))).toEqual(['second_history'])
  })

  const ABOUT_ENTRIES: readonly (readonly [string, string, (facts: Fact[]) => Fact[]])[] = [
    ...[20, 20.5].map((hour): [string, string, (facts: Fact[]) => Fact[]] => [
      `records a second verdict at hour ${hour}`,
      'second_verdict',
      (facts) =>
        facts.toSpliced(
          placeOf(facts, 20) + 1,
          0,
          recorded({ ...verdictAt(BTC, closeOf(hour)), recordedLate: true }, 0),
        ),
    ]),
    [
      'backdates a verdict',
      'backdated_verdict',
      (facts) => [...facts, recorded({ ...verdictAt(ETH, closeOf(20)), previous: null }, 0)],
    ],
    [
      'drops a bar',
      'dropped_bar',
      (facts) => {
        const { verdictId } = verdictIn(facts[placeOf(facts, 5)] as Fact)
        return facts.filter(({ event }) => event.data.verdictId !== verdictId)
      },
    ],
    [
      'turns a race around',
      'wrong_outcome',
      (facts) => {
        const { race } = endOf(verdictIn(facts[placeOf(facts, 6)] as Fact))
        return withOutcome(facts, 6, { race: race === 'up' ? 'down' : 'up', exitPrice: 101 })
      },
    ],
    [
      'leaves an outcome out',
      'wrong_outcome',
      (facts) => facts.toSpliced(placeOf(facts, 6, 'OutcomeLabelled'), 1),
    ],
    [
      'leaves the newest outcomes out',
      'wrong_outcome',
      (facts) => facts.filter((fact) => !isOutcomeFrom(28)(fact)),
    ],
    [
      'gives a verdict a longer race',
      'wrong_outcome',
      (facts) => {
        const verdict = verdictIn(facts[placeOf(facts, 5)] as Fact)
        const longer = { ...verdict, validUntil: closeOf(17) }
        return facts
          .with(placeOf(facts, 5), recorded(longer, 0))
          .with(placeOf(facts, 5, 'OutcomeLabelled'), labelled(longer, NOW))
      },
    ],
    [
      'says of a loser that its bars were not there',
      'wrong_outcome',
      (facts) =>
        withOutcome(facts, 15, { race: 'incomplete', exitPrice: null, decidedAt: null, closePrice: null }),
    ],
    ['uses a model that was not announced', 'unannounced_model', (facts) => facts.slice(1)],
    [
      'announces a model after its first verdict',
      'unannounced_model',
      (facts) => facts.toSpliced(0, 1).toSpliced(placeOf(facts, 3), 0, facts[0] as Fact),
    ],
    [
      'changes the file of a model',
      'unannounced_model',
      (facts) => facts.toSpliced(20, 0, model(MODEL, '00'.repeat(32))),
    ],
  ]
  test.each(ABOUT_ENTRIES)('%s: %s', async (_name, fraud, change) => {
    expect(fraudsOf(await auditOf(await publish(change(honest()))))).toContain(fraud)
  })

  const isEth = ({ coin }: Verdict): boolean => coin === 'ETH'
  const wins = (verdict: Verdict): Verdict => ({ ...verdict, call: winner(verdict), recordedLate: false })

  test.each([1, 2, 6])('records verdicts %i bars late, when their race is known', async (bars) => {
    const holdBack = (verdict: Verdict): number => (isEth(verdict) ? bars * HOUR_MS : 0)
    const log = await publish(recordMarket({ series: ALL, holdBack, alter: (v) => (isEth(v) ? wins(v) : v) }))
    const report = await auditOf(log)
    expect(fraudsOf(report)).toEqual(['backdated_verdict'])
    expect(report.counts.backdated_verdict).toBeGreaterThan(20)
  })

  test('takes losers out that it recorded; those that it never recorded are counted as missing', async () => {
    const losers = new Set<unknown>()
    const isShown = ({ event }: Fact): boolean => !losers.has(event.data.verdictId)
    const facts = recordMarket({ series: ALL })
    for (const fact of facts.filter(isVerdict)) {
      const verdict = verdictIn(fact)
      if (isEth(verdict) && isLoser(verdict)) losers.add(verdict.verdictId)
    }
    expect(fraudsOf(await auditOf(await publish(facts.filter(isShown))))).toEqual(['dropped_bar'])
    const alter = (verdict: Verdict) => (isEth(verdict) && isLoser(verdict) ? undefined : verdict)
    const { findings, summary } = await auditOf(await publish(recordMarket({ series: ALL, alter })))
    expect(findings).toEqual([])
    expect(summary.missing).toBeGreaterThan(5)
  })

  const every = () => recordMarket({ series: ALL })

  test.each(['', '?group_by=series'])(
    'publishes a track record of a better moment (%s)',
    async (grouping) => {
      const facts = every()
      const log = await publish(facts)
      const before = await publish(facts.slice(0, facts.length / 2))
      const source = instead(serviceOf(log), `api/track-record${grouping}`, serviceOf(before))
      const report = await auditOf(log, { source })
      expect(fraudsOf(report)).toEqual(['flattering_track_record'])
      expect(report.findings[0]?.message).toMatch(/stands still/)
    },
  )

  test('publishes a track record of three hours ago; one of half an hour ago may be on its way', async () => {
    const until = START + 12 * HOUR_MS
    const facts = recordMarket({ series: [{ ...BTC, timeframe: '1m' }], until })
    const log = await publish(facts)
    const asOf = async (ms: number): Promise<string[]> => {
      const before = await publish(facts.filter(({ at }) => at <= until - ms))
      return fraudsOf(
        await auditOf(log, { source: instead(serviceOf(log), 'api/track-record', serviceOf(before)) }),
      )
    }
    expect(await asOf(30 * MINUTE_MS)).toEqual([])
    expect(await asOf(3 * HOUR_MS)).toEqual(['flattering_track_record'])
  })

  test.each(
    ['series', 'timeframe'].flatMap((grouping) => [
      [grouping, 'flatters a row', (rows: JsonObject[]) => rows.with(0, { ...rows[0], brier: 0.1 })] as const,
      [grouping, 'leaves a row out', (rows: JsonObject[]) => rows.slice(1)] as const,
      [
        grouping,
        'has a row that the log has not',
        (rows: JsonObject[]) => [...rows, { ...rows[0], model_version: 'other' }],
      ] as const,
    ]),
  )('publishes a track record by %s that %s', async (grouping, _name, flatter) => {
    const log = await publish(every())
    const source = serviceOf(log)
    const lying: LogSource = {
      async get(path) {
        const bytes = await source.get(path)
        if (!path.includes(`group_by=${grouping}`) || bytes === undefined) return bytes
        const answer = JSON.parse(bytes.toString())
        return Buffer.from(JSON.stringify({ ...answer, rows: flatter(answer.rows) }))
      },
    }
    expect(fraudsOf(await auditOf(log, { source: lying }))).toEqual(['flattering_track_record'])
  })

  /** Nothing is recorded for a day; then all of it in order, with the calls that won. */
  const silentFrom = START + 12 * HOUR_MS
  const silentTo = START + 40 * HOUR_MS
  function silent(): Fact[] {
    const isHeld = ({ barClose }: Verdict): boolean => barClose > silentFrom && barClose < silentTo
    const series = [BTC, QUICK]
    const facts = recordMarket({ series, alter: (v) => (isHeld(v) ? wins(v) : v) })
    return facts.map((fact) =>
      fact.at > silentFrom && fact.at < silentTo ? { ...fact, at: silentTo } : fact,
    )
  }

  test('stands still when it is audited, and has all verdicts in order at the next audit', async () => {
    const facts = silent()
    const log = await publish(facts.filter(({ at }) => at <= silentFrom))
    ;(await auditOf(log)).keep(silentFrom + 20 * HOUR_MS)
    await append(
      log,
      facts.filter(({ at }) => at > silentFrom),
    )
    const report = await auditOf(log)
    expect(fraudsOf(report)).toEqual(['backdated_verdict'])
    expect(report.findings[0]?.message).toMatch(/an earlier audit at .* did not find it/)
  })

  test('has another beginning than a checkpoint of an earlier day', async () => {
    const facts = every()
    const half = facts.length / 2
    const log = await publish(facts.slice(0, half))
    const earlier = log.views.checkpoint()
    await append(log, facts.slice(half))
    expect((await auditOf(log, { earlier })).findings).toEqual([])
    const other = await publish([...facts.slice(0, 10), ...facts.slice(11)])
    const shorter = await publish(facts.slice(0, 10))
    for (const one of [other, shorter]) {
      const keys = [...log.keys(), ...one.keys()]
      expect(fraudsOf(await auditOf(one, { earlier, keys }))).toContain('second_history')
    }
    await expect(auditOf(log, { earlier: earlier.replace(/\d+/, '7') })).rejects.toMatchObject({
      code: 'proof_invalid',
    })
  })

  test('gives a verdict two outcomes', async () => {
    const facts = every()
    const twice = facts.find(({ event }) => event.type === 'OutcomeLabelled')
    const log = await publish([
      ...facts,
      ...(twice === undefined
        ? []
        : [
            {
              ...twice,
              event: {
                ...twice.event,
                id: recorded(verdictIn(facts.find(isVerdict) as Fact), 0).event.id.replace(/^./, 'f'),
              },
            },
          ]),
    ])
    expect(fraudsOf(await auditOf(log))).toEqual(['wrong_outcome'])
  })
})

describe('nothing is found in an honest log', () => {
  const within = (from: number, minutes: number) => (at: number) =>
    at >= START + from * MINUTE_MS && at < START + (from + minutes) * MINUTE_MS
  const SHORT = [{ ...BTC, timeframe: '1m' }, { ...ETH, timeframe: '5m' }, BTC] as const satisfies Series[]

  const ACCIDENTS: readonly (readonly [string, Omit<Recording, 'series'>])[] = [
    ['with none', {}],
    ['whose engines were away', { isUp: (_, at) => !within(700, 400)(at) }],
    [
      'one of whose engines was away',
      { isUp: (exchange, at) => exchange !== 'BYBIT' || !within(700, 400)(at) },
    ],
    ['whose store was away', { isStoreUp: (at) => !within(700, 400)(at) }],
    ['whose clock was ahead', { clockOff: (_, at) => (within(700, 500)(at) ? 24 * HOUR_MS : 0) }],
    [
      'one of whose clocks was ahead',
      { clockOff: (exchange, at) => (exchange === 'BYBIT' && within(700, 500)(at) ? 24 * HOUR_MS : 0) },
    ],
    [
      'whose clock was set back',
      { clockOff: (exchange, at) => (exchange === 'BINANCE' && within(700, 300)(at) ? -10 * MINUTE_MS : 0) },
    ],
    ['whose venue was away, and has the bars now', { sends: (_, barClose) => !within(700, 400)(barClose) }],
  ]
  test.each(ACCIDENTS)(
    '%s',
    async (_name, accident) => {
      const facts = recordMarket({ series: ALL, ...accident })
      const log = await publish(facts)
      expect((await auditOf(log)).findings).toEqual([])
      // Short bars are late sooner, and take longer than a minute where the store does.
      const short = recordMarket({ series: SHORT, until: START + 20 * HOUR_MS, ...accident })
      expect((await auditOf(await publish(short))).findings).toEqual([])
    },
    60_000,
  )

  test('whose appends take as long as they are repeated, and no longer', async () => {
    const quick: Series[] = [BTC, ETH].map((series) => ({ ...series, timeframe: '1m' }))
    const appended = (minutes: number) => {
      const isSlow = ({ coin, barClose }: Verdict): boolean =>
        coin === 'ETH' && barClose === START + 120 * MINUTE_MS
      return recordMarket({
        series: quick,
        until: START + 6 * HOUR_MS,
        holdBack: (verdict) => (isSlow(verdict) ? minutes * MINUTE_MS : 0),
        // The next ones wait for it.
        alter: (verdict) => ({ ...verdict, recordedLate: !isSlow(verdict) && verdict.recordedLate }),
      })
    }
    expect((await auditOf(await publish(appended(2)))).findings).toEqual([])
    expect(fraudsOf(await auditOf(await publish(appended(4))))).toEqual(['backdated_verdict'])
  })

  test('that was restored from a copy, and audited before and after', async () => {
    const away = START + 1_500 * MINUTE_MS
    const facts = recordMarket({ series: ALL, isUp: (_, at) => !within(1_500, 90)(at) })
    const log = await publish(facts.filter(({ at }) => at <= away))
    ;(await auditOf(log)).keep(away)
    const store = openMemoryStore({ now: () => NOW })
    for await (const { stream, id, type, schema, data, meta } of log.store.readAll())
      await appendNext(store, stream, [{ id, type, schema, data, meta }])
    const restored = await openMadeUpLog({ directory: log.directory, store })
    await restored.catchUp()
    await append(
      restored,
      facts.filter(({ at }) => at > away),
    )
    const { findings, summary } = await auditOf(restored)
    expect([findings, summary.verdicts]).toEqual([[], facts.filter(isVerdict).length - summary.hidden])
  })

  test('with several accidents at once', async () => {
    const span = fc.record({
      from: fc.integer({ min: 60, max: DAYS_MS / MINUTE_MS - 60 }),
      minutes: fc.integer({ min: 1, max: 600 }),
    })
    const some = fc.array(span, { maxLength: 3 })
    const accidents = fc.record({
      down: fc.array(fc.record({ span, both: fc.boolean() }), { maxLength: 6 }),
      storeAway: some,
      ahead: fc.array(fc.record({ span, hours: fc.integer({ min: 1, max: 30 }) }), { maxLength: 2 }),
      back: some,
      venueAway: fc.array(fc.record({ span, of: fc.nat({ max: 3 }) }), { maxLength: 3 }),
    })
    type Span = { readonly from: number; readonly minutes: number }
    const has = (spans: readonly Span[], at: number): boolean =>
      spans.some(({ from, minutes }) => within(from, minutes)(at))
    await fc.assert(
      fc.asyncProperty(accidents, async ({ down, storeAway, ahead, back, venueAway }) => {
        const isUp = (exchange: Exchange, at: number): boolean =>
          !down.some(
            ({ span: { from, minutes }, both }) =>
              (both || exchange === 'BYBIT') && within(from, minutes)(at),
          )
        const facts = recordMarket({
          series: ALL,
          isUp,
          isStoreUp: (at) => !has(storeAway, at),
          clockOff: (exchange, at) =>
            ahead.find(({ span: { from, minutes } }) => within(from, minutes)(at))?.hours !== undefined &&
            exchange === 'BINANCE'
              ? (ahead.find(({ span: { from, minutes } }) => within(from, minutes)(at))?.hours ?? 0) * HOUR_MS
              : has(back, at)
                ? -9 * MINUTE_MS
                : 0,
          sends: (series, barClose) =>
            !venueAway.some(
              ({ span: { from, minutes }, of }) => ALL[of] === series && within(from, minutes)(barClose),
            ),
        })
        seen = undefined
        const half = START + DAYS_MS / 2
        const log = await publish(facts.filter(({ at }) => at <= half))
        ;(await auditOf(log)).keep(half)
        await append(
          log,
          facts.filter(({ at }) => at > half),
        )
        expect((await auditOf(log)).findings).toEqual([])
      }),
      { numRuns: 15, seed: 8402 },
    )
  }, 120_000)
})

const vkeysOf = (log: MadeUpLog): string[] => log.views.vkeys().trim().split('\n')

/** An audit of a record waits ten seconds for a checkpoint that holds it. */
const withoutRecord = (log: MadeUpLog): LogSource =>
  instead(serviceOf(log), 'api/track-record', { get: async () => undefined })

/** The paths of a log, as a service gives them. */
async function served(source: LogSource): Promise<string> {
  const server = createServer((request, response) => {
    void source.get((request.url ?? '').slice(1)).then(
      (bytes) =>
        bytes === undefined
          ? response.writeHead(404).end('{"code":"not_found","message":"x"}')
          : response.end(bytes),
      () => response.writeHead(500).end(),
    )
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

test('text of a hostile log moves no cursor of the terminal', async () => {
  const evil = 'm\u001b[2K\u009b31m\u202e\r'
  const log = await publish(
    honest({ alter: (v) => (v.barClose === closeOf(5) ? { ...v, modelVersion: evil } : v) }),
  )
  const url = await served(withoutRecord(log))
  const state = join(directory, 'state')
  const audited = await runSignal('audit', url, '--vkey', vkeysOf(log).join(','), '--state', state)
  expect([audited.code, audited.out]).toEqual([18, expect.stringContaining('unannounced_model')])
  expect(audited.out).toContain(visibleText(evil))
  expect(audited.said).not.toMatch(/[^\P{Cc}\n\t]|[\u202a-\u202e]/u)
})

test('two logs have a state each, a proof of one is checked with nothing but the key, an empty one is named', {
  timeout: 120_000,
}, async () => {
  const main = new URL('../../signal.js', import.meta.url).pathname
  const signal = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [main, ...args], { cwd: directory })
  for (const origin of ['one.example.com', 'two.example.com/log']) {
    const log = await publish(honest(), { origin })
    const url = await served(withoutRecord(log))
    const [vkey = ''] = vkeysOf(log)
    expect((await signal('audit', url, '--vkey', vkey)).stdout).toContain('the log holds together')
    for await (const event of log.store.readAll({ filter: { types: ['OutcomeLabelled'] }, limit: 1 })) {
      const file = join(directory, 'one.tlog-proof')
      writeFileSync(file, await log.views.proof(event, new AbortController().signal))
      const { stdout } = await signal('verify', '--proof', file, '--vkey', vkey)
      expect(stdout).toContain(`OutcomeLabelled ${event.id}`)
    }
    await expect(signal('audit', url)).rejects.toMatchObject({
      stderr: expect.stringContaining('--vkey is missing'),
    })
  }
  const states = readdirSync(directory).filter((name) => name.startsWith('signal-audit'))
  expect(states.toSorted()).toEqual([
    'signal-audit-one.example.com.json',
    'signal-audit-two.example.com_log.json',
  ])
  const signer = signerOf('empty.example.com', Buffer.alloc(32, 7))
  const root = hash('sha256', '', 'buffer')
  const note = signCheckpoint({ origin: 'empty.example.com', size: 0, root }, [signer])
  const empty = await served({
    get: async (path) => (path === 'log/checkpoint' ? Buffer.from(note) : undefined),
  })
  await expect(signal('audit', empty, '--vkey', signer.vkey)).rejects.toMatchObject({
    stderr: expect.stringMatching(/error proof_invalid: .*the log is empty/),
  })
})
