import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Candle } from '../contracts/domain/candle.ts'
import { isoTime } from '../contracts/domain/iso-time.ts'
import type { Outcome } from '../contracts/domain/outcome.ts'
import { aVerdict } from '../contracts/domain/verdict.fixture.ts'
import { type Verdict, WINDOW_BARS } from '../contracts/domain/verdict.ts'
import { OutcomeLabelled, VerdictRecorded } from '../contracts/events/event-catalogue.ts'
import { newEvent } from '../contracts/events/event-definition.ts'
import { ModelAnnounced, MonitoringChanged } from '../contracts/events/proof-events.ts'
import { modelStream, monitoredStream, outcomeStream, verdictStream } from '../contracts/events/streams.ts'
import type { NewEvent } from '../contracts/infra/event.ts'
import { START as LOG_START } from '../contracts/infra/position.ts'
import { findDays, type SealedFiles, sealDay } from '../services/analyst/sealing/seal-day.ts'
import { auditTools } from '../services/cli/analyst/audit.ts'
import { openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import { audit, type LogSource, parseVkey } from '../services/proof/index.ts'
import { NOW, nextId, openMadeUpLog } from '../services/proof/testing/made-up-log.fixture.ts'
import { cpuMs, cpuTimed, print } from './support/measure.ts'

/**
 * How long the audit of an honest log takes that has this many verdicts, each with its outcome, beside reading the same
 * events from the store, which is the least that it could take. Times are those of the processor. Besides, how much memory the command takes that audits the same log over HTTP, in a process of
 * its own: the benchmark fails where that is more than is allowed for a million entries.
 *
 * node bench/audit.bench.ts          BENCH_VERDICTS=50000; 500000 are a million entries
 */
const VERDICTS = Number(process.env.BENCH_VERDICTS ?? 50_000)
/** Most coins in a venue's list of monitored ones. */
const MOST_COINS = 500
/** Bars of each coin: a day of minutes, or as many as are needed. */
const BARS = Math.max(1_440, Math.ceil(VERDICTS / MOST_COINS))
const COINS = Math.floor(VERDICTS / BARS) || 1
const WINDOW = WINDOW_BARS['1m']
const MINUTE_MS = 60_000
const START = NOW - (BARS + WINDOW) * MINUTE_MS
const TIMEFRAME = '1m'
const MODEL = 'barrier-5'
const meta = { correlationId: 'bench', actor: 'engine' }

/** Prices that wander without chance, the same for each coin. */
const bars = Array.from({ length: BARS + WINDOW }, (_, minute): Candle => {
  const open = 100 + 3 * Math.sin(minute / 3)
  const close = 100 + 3 * Math.sin((minute + 1) / 3)
  const [high, low] = [Math.max(open, close) + 0.3, Math.min(open, close) - 0.3]
  return { openTime: START + minute * MINUTE_MS, open, high, low, close, volume: 1 }
})

function verdictAt(coin: string, minute: number): Verdict {
  return aVerdict({
    exchange: 'BINANCE',
    coin,
    timeframe: TIMEFRAME,
    verdictId: nextId(),
    barClose: START + minute * MINUTE_MS,
    validUntil: START + (minute + WINDOW) * MINUTE_MS,
    call: minute % 3 === 0 ? 'BUY' : minute % 3 === 1 ? 'SELL' : 'HOLD',
    modelVersion: MODEL,
    barrier: 0.01,
    previous: minute === 1 ? null : { barClose: START + (minute - 1) * MINUTE_MS, regime: 'RANGING' },
  })
}

const { raceOf } = auditTools({ get: async () => undefined })
type RaceEnd = Pick<
  Outcome,
  'race' | 'entryPrice' | 'exitPrice' | 'decidedAt' | 'highest' | 'lowest' | 'closePrice'
>

function labelled(verdict: Verdict, minute: number): NewEvent {
  const { exchange, coin, timeframe, verdictId, barClose, validUntil } = verdict
  const { modelVersion, call, probability, barrier, forecast, recordedLate } = verdict
  const result = raceOf(verdict, bars.slice(minute, minute + WINDOW)) as unknown as RaceEnd
  const series = { exchange, coin, timeframe, verdictId, barClose, validUntil }
  const said = { modelVersion, call, probability, barrier, forecast, recordedLate, barsMissed: 0 }
  return newEvent(OutcomeLabelled, { id: nextId(), data: { ...series, ...said, ...result }, meta })
}

const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-audit-'))
const store = await openEmbeddedStore({ directory: join(directory, 'store'), now: () => NOW })
const log = await openMadeUpLog({ directory: join(directory, 'log'), store, market: 'simulated' })

async function fill(): Promise<void> {
  const coins = Array.from({ length: COINS }, (_, n) => `C${n}`)
  const model = { modelVersion: MODEL, sha256: '7d'.repeat(32), bytes: 1, role: 'serving' as const }
  await log.append(modelStream(MODEL), [newEvent(ModelAnnounced, { id: nextId(), data: model, meta })])
  const monitored = coins.map((coin) => ({ coin, timeframes: [TIMEFRAME] as const }))
  const followed = { exchange: 'BINANCE' as const, since: START, monitored }
  await log.append(monitoredStream('BINANCE'), [
    newEvent(MonitoringChanged, { id: nextId(), data: followed as never, meta }),
  ])
  const verdicts = new Map(coins.map((coin): [string, Verdict[]] => [coin, []]))
  for (let from = 0; from < BARS; from += WINDOW)
    await Promise.all([...verdicts].map(([coin, before]) => advance(coin, before, from)))
}

/** The verdicts of as many bars as a window has, and the outcomes of those whose window has closed by then. */
async function advance(coin: string, verdicts: Verdict[], from: number): Promise<void> {
  const series = { exchange: 'BINANCE', coin, timeframe: TIMEFRAME } as const
  const upTo = Math.min(from + WINDOW, BARS)
  for (let minute = from; minute < upTo; minute++) verdicts.push(verdictAt(coin, minute + 1))
  const recorded = verdicts
    .slice(from)
    // A simulated market may record by the window; a live one does so by the bar.
    .map((data) => newEvent(VerdictRecorded, { id: data.verdictId, data, meta }))
  await log.append(verdictStream(series), recorded)
  const first = Math.max(0, from - WINDOW)
  const due = verdicts.slice(first, Math.max(0, upTo - WINDOW))
  const outcomes = due.map((verdict, n) => labelled(verdict, first + n + 1))
  if (outcomes.length > 0) await log.append(outcomeStream(series), outcomes)
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`
/** Answers of the service of the log. */
const source: LogSource = {
  async get(path) {
    if (path === 'log/checkpoint') return Buffer.from(log.views.checkpoint())
    if (path.startsWith('log/tile/')) return log.views.tile(path.slice('log/'.length))
    if (!path.startsWith('log/contents/')) return undefined
    const { text } = await log.views.contents(path.slice('log/'.length), new AbortController().signal)
    return Buffer.from(text)
  },
}
const barsOf = async (_series: unknown, from: number, to: number) =>
  bars.filter(({ openTime }) => openTime >= from && openTime < to)

print(`${(COINS * BARS).toLocaleString('en')} verdicts of ${COINS} coins, each with its outcome`)
print(`  made in ${seconds(await cpuTimed(fill))}`)
print(`  folded and signed in ${seconds(await cpuTimed(async () => void (await log.sign())))}`)
let events = 0
const readingMs = await cpuTimed(async () => {
  for await (const event of store.readAll()) events += Number(event.data !== null)
})
const keys = log.views
  .vkeys()
  .trim()
  .split('\n')
  .flatMap((vkey) => parseVkey(vkey) ?? [])
const begun = cpuMs()
const report = await audit({
  source,
  keys,
  seen: undefined,
  tools: { ...auditTools(source), barsOf },
})
const auditMs = cpuMs() - begun
print(
  `  audited ${report.size.toLocaleString('en')} entries in ${seconds(auditMs)}, tiles served in this process included; reading ${events.toLocaleString('en')} events takes ${seconds(readingMs)}, × ${(auditMs / readingMs).toFixed(1)}`,
)
print(`  found ${report.findings.length}, outcomes recomputed ${report.recomputed.toLocaleString('en')}`)
print(`  memory ${Math.round(process.memoryUsage.rss() / 1e6).toLocaleString('en')} MB`)
for (const { fraud, message } of report.findings.slice(0, 3)) print(`    ${fraud}: ${message}`)
const MOST_MEGABYTES = 350
/** Written by the command at its end, to nothing but its standard error. */
const TELL_USAGE = `data:text/javascript,process.on('exit',()=>{const {maxRSS,userCPUTime,systemCPUTime}=process.resourceUsage();console.error(JSON.stringify([maxRSS/1e3,(userCPUTime+systemCPUTime)/1e6]))})`

/** The largest memory of the command that audits over HTTP, in MB, and its processor time in seconds. */
async function auditOverHttp(): Promise<{ megabytes: number; cpuSeconds: number }> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://localhost')
    const [from, to] = [Number(query.get('from')), Number(query.get('to'))]
    const about = { market: 'recorded', source: 'made up', from, to, gaps: [], funding: [], next: null }
    const body =
      pathname === '/api/bars'
        ? JSON.stringify({ ...Object.fromEntries(query), ...about, bars: await barsOf(undefined, from, to) })
        : await source.get(pathname.slice(1))
    response.writeHead(body === undefined ? 404 : 200).end(body ?? '{"code":"not_found","message":"x"}')
  }
  const server = createServer((request, response) => void answer(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const flags = [
    '--vkey',
    log.views.vkeys().trim().replaceAll('\n', ' '),
    '--state',
    join(directory, 'state'),
  ]
  // The size of new space is that of `npm run signal`.
  const args = [
    '--max-semi-space-size=16',
    '--import',
    TELL_USAGE,
    'services/signal.js',
    'audit',
    url,
    ...flags,
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'close')
  let said = ''
  for await (const part of child.stderr) said += String(part)
  await ended
  server.close()
  if (child.exitCode !== 0) throw new Error(`the audit over HTTP ends with ${child.exitCode}: ${said}`)
  const [megabytes = 0, cpuSeconds = 0] = JSON.parse(said.trim().split('\n').at(-1) ?? '') as number[]
  return { megabytes, cpuSeconds }
}
const overHttp = await auditOverHttp()
const isLess = overHttp.megabytes <= MOST_MEGABYTES
print(
  `  over HTTP, in a process of its own: ${Math.round(overHttp.megabytes)} MB at most for ${report.size.toLocaleString('en')} entries, ${isLess ? 'meets' : 'MISSES'} ${MOST_MEGABYTES}; ${Math.round(report.size / overHttp.cpuSeconds).toLocaleString('en')} entries/s of its processor`,
)
if (!isLess) process.exitCode = 1
const proofs = 500
const proofMs = await cpuTimed(() => {
  for (let n = 0; n < proofs; n++) log.tree.inclusion(Math.floor((n * report.size) / proofs), report.size)
})
print(`  a proof of inclusion in ${((proofMs / proofs) * 1_000).toFixed(0)} µs`)
const day = {
  exchange: 'BINANCE' as const,
  date: isoTime(NOW - MINUTE_MS).slice(0, 10),
  after: LOG_START,
  upTo: await store.head(),
}
let sealed: SealedFiles | undefined
const sealingMs = await cpuTimed(async () => {
  const { signal } = new AbortController()
  for (const found of await findDays(store, [day], signal))
    sealed = await sealDay(store, found, join(directory, 'sealed'), signal)
})
const rows = sealed?.rows ?? 0
print(
  `  sealed the day of ${rows.toLocaleString('en')} verdicts, as Parquet and as CSV, in ${seconds(sealingMs)}: ${Math.round((rows / sealingMs) * 1_000).toLocaleString('en')} rows/s, ${(2_000 / sealingMs).toPrecision(2)} files/s`,
)
await store.close()
rmSync(directory, { recursive: true, force: true })
