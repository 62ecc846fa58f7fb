import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import { freePort } from '../testing/servers/server-port.ts'
import { fillLog } from './support/filled-log.ts'
import { print, quantile } from './support/measure.ts'

/**
 * The start of the service as a user starts it, and its weight: from the start of the process until it is ready and has
 * answered its first call, in an empty folder and over a long log; memory idle and under 80 connections of mixed calls;
 * `signal help`.
 *
 * node bench/start.bench.ts          BENCH_EVENTS=200000 BENCH_ROUNDS=5 BENCH_SECONDS=5
 *
 * Budget: 1.5 s in an empty folder; 2.5 s over 2,000,000 events, and the first call within 50 ms of ready; 230 MB idle and
 * 400 MB under load; help within 150 ms.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 200_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const SERIES = 200
const CONNECTIONS = 80
/** By then the work of a start is done. A short round measures nothing. */
const IDLE_MS = SECONDS < 0.5 ? 2_000 : 50_000
const OPERATOR_TOKEN = 'operator-token-of-the-benchmark'
const START = join(import.meta.dirname, '../services/start.js')
const SIGNAL = join(import.meta.dirname, '../services/signal.js')

const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-start-'))
const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
})
type Headers = Record<string, string>
const call = (url: string, headers: Headers = {}): Promise<Response> =>
  fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: CALL,
  })

interface Started {
  readonly child: ChildProcess
  readonly url: string
  /** From the start of the process until its first call was answered. */
  readonly answeredMs: number
  /** The time of the call alone. */
  readonly callMs: number
  /** Processor time until then. */
  readonly cpuMs: number
}

async function start(folder: string, waits: 'until it is ready' | 'for nothing'): Promise<Started> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const args = ['--max-semi-space-size=16', START, '--port', `${port}`, '--data-dir', folder]
  const env = {
    PATH: process.env.PATH,
    OPERATOR_TOKEN,
    RATE_PER_KEY: '1000000',
    RATE_PER_ADDRESS: '1000000',
  }
  const began = performance.now()
  const child = spawn(process.execPath, args, { env, stdio: 'ignore' })
  const answers = async (ask: () => Promise<Response>, isIt: (text: string) => boolean): Promise<number> => {
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`)
      const asked = performance.now()
      const text = await ask().then(
        (answer) => (answer.ok ? answer.text() : ''),
        () => '',
      )
      if (isIt(text)) return performance.now() - asked
      await delay(5)
    }
  }
  if (waits === 'until it is ready')
    await answers(
      () => fetch(`${url}/readyz`),
      (text) => text !== '',
    )
  const callMs = await answers(
    () => call(url),
    (text) => text.includes('verdict_id'),
  )
  return { child, url, answeredMs: performance.now() - began, callMs, cpuMs: cpuOf(child) }
}

/** Processor time of a process so far, where the system tells it in hundredths of a second. */
function cpuOf({ pid }: ChildProcess): number {
  if (process.platform !== 'linux') return Number.NaN
  const [user = 0, system = 0] =
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []
  return (user + system) * 10
}

async function stop({ child }: Started): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

const residentMb = ({ child }: Started): number =>
  (Number(execFileSync('ps', ['-o', 'rss=', '-p', `${child.pid}`], { encoding: 'utf8' })) * 1_024) / 1e6

const told = (what: string, values: readonly number[], unit: string, most?: number): void => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = quantile(sorted, 0.5)
  const spread = `[${sorted[0]?.toFixed(0)}–${sorted.at(-1)?.toFixed(0)}]`
  const verdict = most === undefined ? '' : `  ${middle <= most ? 'meets' : 'MISSES'} ${most}`
  print(`  ${what.padEnd(46)} ${middle.toFixed(0).padStart(6)} ${unit}  ${spread}${verdict}`)
}

/** Calls by key and without, offers, pages and replays, each connection in turn. */
async function mixedCalls(service: Started): Promise<number> {
  const made = await fetch(`${service.url}/operator/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
    body: '{"tier":"pro"}',
  })
  const { key } = (await made.json()) as { key: string }
  const paths = ['/', '/series/SIM/BTC/1h', '/api/verdicts?coin=BTC&limit=100', '/track-record']
  const until = performance.now() + SECONDS * 1_000
  let most = 0
  const connection = async (index: number): Promise<void> => {
    for (let n = index; performance.now() < until; n++) {
      const path = n % 4 === 0 ? paths[(n / 4) % paths.length] : undefined
      const answer =
        path === undefined
          ? await call(service.url, { authorization: `Bearer ${key}` })
          : await fetch(`${service.url}${path}`)
      await answer.arrayBuffer()
    }
  }
  const looking = setInterval(() => {
    most = Math.max(most, residentMb(service))
  }, 200)
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, index) => connection(index)))
  clearInterval(looking)
  return Math.max(most, residentMb(service))
}

async function starts(
  name: string,
  folderOf: (round: number) => string,
  waits: Parameters<typeof start>[1],
  answeredWithin: number,
): Promise<void> {
  const rounds: Started[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const started = await start(folderOf(round), waits)
    await stop(started)
    rounds.push(started)
  }
  print(`\nstarted ${name}`)
  const of = (field: 'answeredMs' | 'callMs' | 'cpuMs'): number[] => rounds.map((round) => round[field])
  told('from the start to the first answered call', of('answeredMs'), 'ms', answeredWithin)
  told('processor time until then', of('cpuMs'), 'ms')
  if (waits === 'until it is ready') told('that call alone, once it is ready', of('callMs'), 'ms', 50)
}

const help = Array.from({ length: ROUNDS + 1 }, () => {
  const began = performance.now()
  spawnSync(process.execPath, [SIGNAL, 'help'], { stdio: 'ignore' })
  return performance.now() - began
}).slice(1)
print('the command line')
told('signal help', help, 'ms', 150)

await starts('in an empty folder', (round) => join(directory, `empty-${round}`), 'for nothing', 1_500)

const long = join(directory, 'long')
cpSync(join(directory, 'empty-0'), long, { recursive: true })
const store = await openEmbeddedStore({ directory: join(long, 'simulated'), now: Date.now })
await fillLog(store, { events: EVENTS, series: SERIES, barsAtOnce: 25 })
await store.close()
// The first start folds what was appended beside the service.
const first = await start(long, 'until it is ready')
print(`\nready over ${EVENTS} events that no read model had folded: ${first.answeredMs.toFixed(0)} ms`)
await stop(first)
await starts(`over ${EVENTS} more events`, () => long, 'until it is ready', 2_500)

const service = await start(long, 'until it is ready')
await delay(IDLE_MS)
print('\nresident memory')
told(`idle for ${IDLE_MS / 1_000} s`, [residentMb(service)], 'MB', 230)
told(`at most, under ${CONNECTIONS} connections of mixed calls`, [await mixedCalls(service)], 'MB', 400)
await stop(service)
rmSync(directory, { recursive: true, force: true })
