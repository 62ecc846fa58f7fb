import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Series } from '../../../contracts/series.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { rowsInMemory, trackRecord } from '../../../projections/index.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { type AuditState, audit, type LogSource } from '../../proof/index.ts'
import { type MadeUpLog, NOW, openMadeUpLog } from '../../proof/testing/made-up-log.fixture.ts'
import {
  barsAnswer,
  DAYS_MS,
  type Fact,
  HOUR_MS,
  isLoser,
  MINUTE_MS,
  type Recording,
  recorded,
  recordMarket,
  START,
  winner,
} from '../testing/recorded-market.fixture.ts'
import { auditTools } from './audit-tools.ts'

const BTC: Series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' }
const ETH: Series = { ...BTC, coin: 'ETH' }
const QUICK: Series = { ...BTC, timeframe: '15m' }
const OTHER: Series = { exchange: 'BYBIT', coin: 'SOL', timeframe: '1h' }
const ALL = [BTC, ETH, QUICK, OTHER]

const opened: MadeUpLog[] = []
/** Kept from one audit to the next. */
let seen: AuditState | undefined
beforeEach(() => {
  seen = undefined
})
afterEach(() => {
  for (const log of opened.splice(0)) log.remove()
})

/** A log of these facts that signs all it holds, however it came about. */
async function publish(facts: readonly Fact[], at?: string): Promise<MadeUpLog> {
  const log = await openMadeUpLog({ directory: at ?? mkdtempSync(join(tmpdir(), 'log-')) })
  opened.push(log)
  await append(log, facts)
  return log
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
      const rows = rowsInMemory<JsonObject>()
      for await (const event of log.store.readAll({ filter: { types: trackRecord.events } }))
        trackRecord.fold(rows as never, decodeEvent(event))
      const found = auditTools({ get: async () => undefined }).reported(rows.entries, grouping)
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

describe('a log that signs everything correctly is found out when it', () => {
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

  const honest = () => recordMarket({ series: ALL })

  test.each(['', '?group_by=series'])(
    'publishes a track record of a better moment (%s)',
    async (grouping) => {
      const facts = honest()
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

  test.each([
    ['flatters a series', (rows: JsonObject[]) => rows.with(0, { ...rows[0], brier: 0.1 })],
    ['leaves a series out', (rows: JsonObject[]) => rows.slice(1)],
    ['has a series that the log has not', (rows: JsonObject[]) => [...rows, { ...rows[0], coin: 'XRP' }]],
  ])('publishes a track record that %s', async (_name, flatter) => {
    const log = await publish(honest())
    const source = serviceOf(log)
    const lying: LogSource = {
      async get(path) {
        const bytes = await source.get(path)
        if (!path.includes('group_by=series') || bytes === undefined) return bytes
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
    const facts = honest()
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
    const facts = honest()
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
