import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/candle.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { decodeEvent, type EventType, eventOf, type FactOf } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import { modelStream, monitoredStream, verdictStream } from '../../../contracts/streams.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { TrackRecordAnswer } from '../../../contracts/track-record-row.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { rowsInMemory, trackRecord } from '../../../projections/index.ts'
import { type AuditState, audit, type LogSource, parseVkey } from '../../proof/index.ts'
import { signCheckpoint, signerOf } from '../../proof/note.ts'
import { type MadeUpLog, NOW, nextId, openMadeUpLog } from '../../proof/testing/made-up-log.fixture.ts'
import { visibleText } from '../kit/output.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'
import { endOf, labelled as labelledAt } from '../testing/recorded-market.fixture.ts'
import { auditTools } from './audit-tools.ts'

const HOURS = 40
const START = NOON_OF(NOW) - HOURS * HOUR_MS
const WINDOW = 8
function NOON_OF(time: number): number {
  return Math.floor(time / HOUR_MS) * HOUR_MS
}

/** Prices that wander without chance. */
const barAt = (hour: number): Candle => {
  const open = 100 + 3 * Math.sin(hour / 3)
  const close = 100 + 3 * Math.sin((hour + 1) / 3)
  const [high, low] = [Math.max(open, close) + 0.3, Math.min(open, close) - 0.3]
  return { openTime: START + hour * HOUR_MS, open, high, low, close, volume: 1 }
}
/** The venue sent nothing in one of these hours. */
const BARS = Array.from({ length: HOURS + 1 }, (_, hour) => barAt(hour)).filter((_, hour) => hour !== 10)

const meta = { correlationId: 'test', actor: 'engine' }
interface Fact {
  readonly stream: string
  readonly event: NewEvent
}
const factIn = <Type extends EventType>(
  stream: string,
  type: Type,
  data: Extract<FactOf<Type>, { type: Type }>['data'],
  id = nextId(),
): Fact => ({ stream, event: eventOf({ type, data } as FactOf<EventType>, { id, meta }) })
const SERIES = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' } as const

const follows = (hour: number): Verdict['previous'] => ({
  barClose: START + hour * HOUR_MS,
  regime: 'RANGING',
})
/** The venue sent no bar that closes in hour 11. */
const previousOf = (hour: number): Verdict['previous'] =>
  hour === 1 ? null : follows(hour === 12 ? 10 : hour - 1)

const verdictAt = (hour: number, change: Partial<Verdict> = {}): Verdict =>
  aVerdict({
    ...SERIES,
    verdictId: nextId(),
    barClose: START + hour * HOUR_MS,
    validUntil: START + (hour + WINDOW) * HOUR_MS,
    call: hour % 3 === 0 ? 'BUY' : hour % 3 === 1 ? 'SELL' : 'HOLD',
    modelVersion: 'barrier-3',
    barrier: 0.01,
    previous: previousOf(hour),
    ...change,
  })

const recorded = (verdict: Verdict): Fact =>
  factIn(verdictStream(verdict), 'VerdictRecorded', verdict, verdict.verdictId)

/** The outcome of a verdict by the bars of this log. */
const labelled = (verdict: Verdict, change: Partial<Outcome> = {}): Fact => {
  const bars = BARS.filter(({ openTime }) => openTime >= verdict.barClose)
  return labelledAt(verdict, NOW, { ...endOf(verdict, bars), ...change })
}

/** Models, by the version, from their announcements on. */
const model = (modelVersion: string, sha256 = '8e'.repeat(32)): Fact =>
  factIn(modelStream(modelVersion), 'ModelAnnounced', { modelVersion, sha256, bytes: 1, role: 'serving' })
const announced = (sha256 = '7d'.repeat(32)): Fact => model('barrier-3', sha256)

const monitored = (coin: string, since: number): Fact =>
  factIn(monitoredStream('BINANCE'), 'MonitoringChanged', {
    exchange: SERIES.exchange,
    since,
    monitored: [{ coin, timeframes: ['1h'] }],
  })

/** An honest log: every hour a verdict, and the outcome of the one whose window closed. */
function honest(change: (hour: number) => Partial<Verdict> = () => ({})): Fact[] {
  const facts: Fact[] = [announced(), monitored('BTC', START)]
  const verdicts = new Map<number, Verdict>()
  for (let hour = 1; hour <= HOURS; hour++) {
    if (hour !== 11) {
      const verdict = verdictAt(hour, change(hour))
      verdicts.set(hour, verdict)
      facts.push(recorded(verdict))
    }
    const due = verdicts.get(hour - WINDOW)
    if (due !== undefined) facts.push(labelled(due))
  }
  return facts
}

const opened: MadeUpLog[] = []
let directory: string
/** Kept from one audit to the next. */
let seen: AuditState | undefined
beforeEach(() => {
  seen = undefined
  directory = mkdtempSync(join(tmpdir(), 'audit-'))
})
afterEach(() => {
  for (const log of opened.splice(0)) log.remove()
  rmSync(directory, { recursive: true, force: true })
})

/** A log of these facts that signs all it holds, however it came about. */
async function publish(facts: readonly Fact[], beside?: MadeUpLog, origin?: string): Promise<MadeUpLog> {
  if (beside !== undefined) rmSync(join(beside.directory, 'newest-checkpoint'), { force: true })
  const place = beside?.directory ?? mkdtempSync(join(tmpdir(), 'log-'))
  const log = await openMadeUpLog({ directory: place, ...(origin !== undefined && { origin }) })
  opened.push(log)
  for (const { stream, event } of facts) await log.append(stream, [event])
  expect(await log.sign()).toBeUndefined()
  return log
}

/** The answers of the service of a log, and its description of itself. */
function serviceOf(log: MadeUpLog, flatter: (row: JsonObject) => JsonObject = (row) => row): LogSource {
  return {
    async get(path) {
      if (path === 'log/checkpoint') return Buffer.from(log.views.checkpoint())
      if (path.startsWith('log/tile/')) return log.views.tile(path.slice(4))
      if (path.startsWith('log/contents/'))
        return Buffer.from((await log.views.contents(path.slice(4), new AbortController().signal)).text)
      const [from = 0, to = 0] = ['from', 'to'].map((name) =>
        Number(new URLSearchParams(path.split('?')[1]).get(name)),
      )
      if (path.startsWith('api/bars'))
        return Buffer.from(
          JSON.stringify({
            ...SERIES,
            market: 'live',
            source: 'test',
            from: START,
            to: NOW,
            bars: path.includes('coin=BTC')
              ? BARS.filter(({ openTime }) => openTime >= from && openTime < to)
              : [],
            gaps: [],
            funding: [],
            next: null,
          }),
        )
      if (!path.startsWith('api/track-record')) return undefined
      const rows = rowsInMemory<JsonObject>()
      for await (const event of log.store.readAll({ filter: { types: trackRecord.events } }))
        trackRecord.fold(rows as never, decodeEvent(event))
      const grouping = path.includes('group_by=series') ? 'series' : 'timeframe'
      const found = auditTools({ get: async () => undefined }).reported(rows.entries, grouping)
      const shown = grouping === 'series' ? found : found.map(flatter)
      const answer = { as_of: '1', group_by: grouping, notice: 'x', rows: shown, next: null }
      return Buffer.from(JSON.stringify(answer as unknown as TrackRecordAnswer))
    },
  }
}

const vkeysOf = (log: MadeUpLog) => log.views.vkeys().trim().split('\n')

async function auditOf(log: MadeUpLog, source = serviceOf(log), key = log) {
  const keys = vkeysOf(key).flatMap((vkey) => parseVkey(vkey) ?? [])
  const report = await audit({ source, keys, seen, tools: auditTools(source) })
  const keep = (seenAt = NOW): void => void (seen = { checkpoint: report.checkpoint, seenAt })
  return { ...report, keep }
}

const fraudsOf = ({ findings }: { readonly findings: readonly { readonly fraud: string }[] }) => [
  ...new Set(findings.map(({ fraud }) => fraud)),
]

test('nothing is found in an honest log, also where it has grown since', async () => {
  const facts = honest()
  const log = await publish(facts.slice(0, 40))
  const first = await auditOf(log)
  expect(first.findings).toEqual([])
  first.keep(first.summary.horizon + HOUR_MS)
  for (const { stream, event } of facts.slice(40)) await log.append(stream, [event])
  await log.sign()
  const second = await auditOf(log)
  expect(second.findings).toEqual([])
  expect(second.summary).toMatchObject({ verdicts: 31, outcomes: 31, hidden: 8, models: 1 })
  expect(second.recomputed).toBe(31)
  expect(second.unchecked).toEqual([
    'whether verdicts follow from their bars and model: `signal verify --recompute` computes one again',
    'whether bars are those of the venue: compare some of them with it',
  ])
})

const hourOf = ({ event }: Fact): number => (Number(event.data.barClose) - START) / HOUR_MS
const isOf = (fact: Fact, type: string, from: number, to: number): boolean =>
  fact.event.type === type && hourOf(fact) >= from && hourOf(fact) <= to

/** No verdict for some hours; the race of those before knows no bars from the first of them on. */
function interrupted(): Fact[] {
  const facts = honest((hour) => (hour === 25 ? { previous: follows(19) } : {})).filter(
    (fact) => !isOf(fact, 'VerdictRecorded', 20, 24) && !isOf(fact, 'OutcomeLabelled', 20, 24),
  )
  return facts.map((fact) => {
    if (!isOf(fact, 'OutcomeLabelled', 12, 19)) return fact
    const verdict = facts.find(({ event }) => event.id === fact.event.data.verdictId)?.event
      .data as unknown as Verdict
    const result = endOf(
      verdict,
      BARS.filter(
        ({ openTime }) =>
          openTime >= verdict.barClose &&
          !(openTime >= START + 19 * HOUR_MS && openTime < START + 24 * HOUR_MS),
      ),
    )
    return labelled(verdict, result)
  })
}

/** Everything up to an hour is recorded then. */
function recordedAtOnce(until: number): Fact[] {
  const facts = honest((hour) => ({ recordedLate: hour + WINDOW < until }))
  const begun = facts.filter((fact) => isOf(fact, 'OutcomeLabelled', 1, until - WINDOW))
  const others = facts.filter((fact) => !begun.includes(fact))
  const place = others.findIndex((fact) => isOf(fact, 'VerdictRecorded', until, until))
  return others.toSpliced(place + 1, 0, ...begun)
}

/** Another coin in place of one that has changed its name, which ends. */
function renamed(): Fact[] {
  const facts = honest().filter((fact) => !isOf(fact, 'VerdictRecorded', 21, HOURS))
  const known = new Set<unknown>(facts.map(({ event }) => event.id))
  const own = facts.filter(({ event }) => event.type !== 'OutcomeLabelled' || known.has(event.data.verdictId))
  return [
    ...own,
    monitored('XBT', START + 20 * HOUR_MS),
    ...Array.from({ length: 8 }, (_, at) =>
      recorded(verdictAt(HOURS - 7 + at, { coin: 'XBT', ...(at === 0 && { previous: null }) })),
    ),
  ]
}

const HONEST: readonly (readonly [string, () => Fact[]])[] = [
  ['began a minute ago: nothing is shown yet', () => honest().slice(0, 2)],
  ['has open windows only', () => [announced(), ...[38, 39, 40].map((hour) => recorded(verdictAt(hour)))]],
  ['was recorded late, and says so', () => recordedAtOnce(20)],
  ['was left by its venue, which has the bars now', interrupted],
  [
    'was stopped between a verdict and the outcome that was due',
    () => honest().filter((fact) => !isOf(fact, 'OutcomeLabelled', 30, HOURS)),
  ],
  [
    'has its verdicts from another model since',
    () => [model('other-1'), ...honest((hour) => (hour > 20 ? { modelVersion: 'other-1' } : {}))],
  ],
  ['follows a coin by another name', renamed],
]

test.each(HONEST)('nothing is found in an honest log that %s', async (_name, facts) => {
  const log = await publish(facts())
  expect((await auditOf(log)).findings).toEqual([])
  // Whoever audits it again has nothing to find, either.
  const first = await auditOf(log)
  first.keep(first.summary.horizon)
  expect((await auditOf(log)).findings).toEqual([])
})

test('bars without a verdict are counted; so are outcomes that lack bars of today', async () => {
  const { findings, lacking, summary } = await auditOf(await publish(interrupted()))
  expect(findings).toEqual([])
  expect(lacking).toBeGreaterThan(0)
  expect(summary.missing).toBe(6)
  const late = await auditOf(await publish(recordedAtOnce(20)))
  expect(late.summary.late).toBe(10)
})

describe('a log that signs everything correctly is found out when it has', () => {
  /** Index of the verdict of an hour. */
  const at = (facts: readonly Fact[], hour: number): number =>
    facts.findIndex(
      ({ event }) => event.type === 'VerdictRecorded' && event.data.barClose === START + hour * HOUR_MS,
    )
  const verdictOf = (facts: readonly Fact[], hour: number) =>
    facts[at(facts, hour)]?.event.data as unknown as Verdict

  /** The service of a log that shows another line for the verdict of an hour. */
  function showing(
    log: MadeUpLog,
    facts: readonly Fact[],
    hour: number,
    edit: (line: string) => string,
  ): LogSource {
    const source = serviceOf(log)
    // The identity of the store is in front of the facts.
    const place = at(facts, hour) + 1
    return {
      async get(path) {
        const bytes = await source.get(path)
        if (!path.startsWith('log/contents/') || bytes === undefined) return bytes
        const lines = bytes.toString().split('\n')
        return Buffer.from(lines.with(place, edit(lines[place] ?? '')).join('\n'))
      },
    }
  }

  test.each([
    ['edited an entry', (line: string) => line.replace('"call":"HOLD"', '"call":"SELL"')],
    ['removed an entry', () => 'null'],
  ])('%s', async (_name, edit) => {
    const facts = honest()
    const log = await publish(facts)
    const { findings } = await auditOf(log, showing(log, facts, 5, edit))
    const found = { fraud: 'edited_verdict', index: at(facts, 5) + 1 }
    expect(findings).toContainEqual(expect.objectContaining(found))
  })

  test('edited an entry that it signed before', async () => {
    const facts = honest()
    const log = await publish(facts)
    ;(await auditOf(log)).keep()
    const edited = { ...verdictOf(facts, 5), reasoning: 'It was plain to see.' }
    const other = await publish(facts.with(at(facts, 5), recorded(edited)), log)
    expect(fraudsOf(await auditOf(other, undefined, log))).toEqual(['second_history'])
  })

  test.each([20, 20.5])('recorded a second verdict for a bar, at hour %d', async (hour) => {
    const facts = honest()
    const second = recorded(verdictAt(hour, { call: 'BUY', recordedLate: true }))
    const log = await publish(facts.toSpliced(at(facts, 20) + 1, 0, second))
    expect(fraudsOf(await auditOf(log))).toEqual(['second_verdict'])
  })

  test('a second history', async () => {
    const facts = honest()
    const log = await publish(facts)
    ;(await auditOf(log)).keep()
    const other = await publish(facts.toSpliced(at(facts, 5), 0, announced()), log)
    expect(fraudsOf(await auditOf(other, undefined, log))).toEqual(['second_history'])
    const shorter = await publish(facts.slice(0, 30), log)
    expect(fraudsOf(await auditOf(shorter, undefined, log))).toEqual(['second_history'])
  })

  test('backdated a verdict', async () => {
    const facts = honest()
    const place = at(facts, 20)
    const moved = facts.toSpliced(place, 1)
    // Recorded when everybody knew what came of it; those between are held back so that no bar is missing.
    const from = moved.findIndex(
      ({ event }) => event.type === 'OutcomeLabelled' && event.data.barClose === START + 12 * HOUR_MS,
    )
    const other = { ...SERIES, coin: 'ETH', previous: null }
    expect(from).toBeGreaterThan(0)
    expect(fraudsOf(await auditOf(await publish([...facts, recorded(verdictAt(20, other))])))).toEqual([
      'backdated_verdict',
    ])
  })

  test('dropped a bar', async () => {
    const facts = honest()
    const { verdictId } = verdictOf(facts, 5)
    const log = await publish(facts.filter(({ event }) => event.data.verdictId !== verdictId))
    expect(fraudsOf(await auditOf(log))).toEqual(['dropped_bar'])
  })

  test('another origin', async () => {
    const log = await publish(honest())
    ;(await auditOf(log)).keep()
    const { directory: place, store } = log
    const other = await openMadeUpLog({ directory: place, store, origin: 'signals.example.com/better' })
    await other.sign()
    const found = fraudsOf(await auditOf(other))
    expect(found).toEqual(['second_history'])
    // An auditor who never saw the first one reads of it.
    seen = undefined
    expect(fraudsOf(await auditOf(other))).toEqual(['second_history'])
  })

  test('a wrong outcome', async () => {
    const facts = honest()
    const place = facts.findIndex(
      ({ event }) => event.type === 'OutcomeLabelled' && event.data.call === 'BUY',
    )
    const verdict = facts.find(({ event }) => event.id === facts[place]?.event.data.verdictId)?.event
      .data as unknown as Verdict
    const lie = labelled(verdict)
    const race = lie.event.data.race === 'up' ? 'down' : 'up'
    const lying = labelled(verdict, { race, exitPrice: 101 })
    expect(fraudsOf(await auditOf(await publish(facts.with(place, lying))))).toEqual(['wrong_outcome'])
    // Losers that are never labelled show, too.
    expect(fraudsOf(await auditOf(await publish(facts.toSpliced(place, 1))))).toEqual(['wrong_outcome'])
  })

  test('used a model that was not announced, or changed its file', async () => {
    const facts = honest()
    expect(fraudsOf(await auditOf(await publish(facts.slice(1))))).toEqual(['unannounced_model'])
    const swapped = facts.toSpliced(20, 0, announced('00'.repeat(32)))
    expect(fraudsOf(await auditOf(await publish(swapped)))).toEqual(['unannounced_model'])
  })

  test('announced a model after its first verdict', async () => {
    const facts = honest()
    const others = facts.slice(1)
    const late = others.toSpliced(at(others, 3) + 1, 0, ...facts.slice(0, 1))
    expect(fraudsOf(await auditOf(await publish(late)))).toEqual(['unannounced_model'])
  })

  test('left the newest outcomes out', async () => {
    const facts = honest().filter(
      ({ event }) => event.type !== 'OutcomeLabelled' || Number(event.data.barClose) < START + 20 * HOUR_MS,
    )
    expect(fraudsOf(await auditOf(await publish(facts)))).toEqual(['wrong_outcome'])
  })

  test('gave a verdict a longer race than the others', async () => {
    const facts = honest()
    const longer = verdictAt(5, { validUntil: START + (5 + WINDOW + 4) * HOUR_MS })
    const id = verdictOf(facts, 5).verdictId
    const place = facts.findIndex(
      ({ event }) => event.type === 'OutcomeLabelled' && event.data.verdictId === id,
    )
    const other = facts.with(at(facts, 5), recorded(longer)).with(place, labelled(longer))
    expect(fraudsOf(await auditOf(await publish(other)))).toContain('wrong_outcome')
  })

  test('said of losers that their bars were not there', async () => {
    const facts = honest()
    const place = facts.findIndex(
      ({ event }) => event.type === 'OutcomeLabelled' && event.data.barClose === START + 15 * HOUR_MS,
    )
    const nothing = { race: 'incomplete', exitPrice: null, decidedAt: null, closePrice: null } as const
    const lie = labelled(verdictOf(facts, 15), nothing)
    expect(fraudsOf(await auditOf(await publish(facts.with(place, lie))))).toEqual(['wrong_outcome'])
  })

  test('a flattering track record', async () => {
    const log = await publish(honest())
    const flattered = serviceOf(log, (row) => {
      const spoken = row.spoken as { readonly wins: number }
      return { ...row, spoken: { ...(row.spoken as JsonObject), wins: spoken.wins + 1 } }
    })
    expect(fraudsOf(await auditOf(log, flattered))).toEqual(['flattering_track_record'])
    const fewer = serviceOf(log, (row) => ({ ...row, verdicts: Number(row.verdicts) + 5 }))
    expect(fraudsOf(await auditOf(log, fewer))).toEqual(['flattering_track_record'])
  })
})

/** The paths of a log, as a service gives them. */
async function served(source: LogSource): Promise<string> {
  const server = createServer((request, response) => {
    void source.get((request.url ?? '').slice(1)).then(
      (bytes) => (bytes === undefined ? response.writeHead(404).end() : response.end(bytes)),
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
  const log = await publish(honest((hour) => (hour === 5 ? { modelVersion: evil } : {})))
  const source = serviceOf(log)
  const url = await served({
    get: async (path) => (path.startsWith('api/track-record') ? undefined : source.get(path)),
  })
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
    const log = await publish(honest(), undefined, origin)
    const url = await served(serviceOf(log))
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
