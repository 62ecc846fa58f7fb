import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, get as httpGet, type OutgoingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { logFile, openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import { freePort } from '../testing/servers/server-port.ts'
import { growLog } from './support/grown-log.ts'
import { print, quantile } from './support/measure.ts'

/**
 * Read models of another version are built anew in place, in a service under load: how long that takes, and what the
 * answers of the others take meanwhile.
 *
 * node bench/rebuild.bench.ts      BENCH_EVENTS=200000 BENCH_CONNECTIONS=8 BENCH_LOG=FOLDER BENCH_MODELS=track_record
 *
 * BENCH_LOG names the folder of a log that growth.bench.ts has kept; it is copied.
 *
 * Budget: no answer of the others is refused, and none takes 100 ms.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 200_000)
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 8)
const REBUILT = (process.env.BENCH_MODELS ?? 'track_record,transparency_tree').split(',')
const MOST_MS = 100
const TOKEN = 'operator-token-of-the-benchmark'
const SEALING_KEY = randomBytes(32).toString('base64')
const START = join(import.meta.dirname, '../services/start.js')
const BAR_MS = 300_000
const LOOK_MS = 50
const AFTER_MS = 3_000

const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-rebuild-'))
const market = join(directory, 'simulated')
mkdirSync(market)
const kept = process.env.BENCH_LOG
if (kept !== undefined && existsSync(logFile(kept))) copyFileSync(logFile(kept), logFile(market))
else {
  if (kept !== undefined) print(`${kept} has no log: a shorter one is made here`)
  let now = Date.now() - BAR_MS
  const store = await openEmbeddedStore({ directory: market, now: () => now })
  const clock = (at: number): void => {
    now = at
  }
  await growLog(store, { events: EVENTS, clock, end: now })
  await store.close()
}

interface Service {
  readonly child: ChildProcess
  readonly url: string
}

async function start(): Promise<Service> {
  const port = await freePort()
  const args = ['--max-semi-space-size=16', START, '--port', `${port}`, '--data-dir', directory]
  const env = {
    PATH: process.env.PATH,
    OPERATOR_TOKEN: TOKEN,
    SEALING_KEY,
    CONSOLE: 'off',
    RATE_PER_ADDRESS: '1000000',
  }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  return { child, url: `http://127.0.0.1:${port}` }
}

interface Answer {
  readonly status: number
  readonly text: string
}

const agent = new Agent({ keepAlive: true })
const ask = (url: string, headers: OutgoingHttpHeaders = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    httpGet(url, { agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    }).on('error', reject)
  })

type States = Readonly<Record<string, string | undefined>>

/** The state of each read model by its name; none before the service answers. */
async function states({ child, url }: Service): Promise<States> {
  if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`)
  const { text } = await ask(`${url}/readyz`, { authorization: `Bearer ${TOKEN}` }).catch(() => ({
    text: '{}',
  }))
  const { components = [] } = JSON.parse(text) as {
    components?: { name: string; detail: string }[]
  }
  const models = components.flatMap(({ name, detail }) => {
    const [, model] = /^projection (.*)/.exec(name) ?? []
    return model === undefined ? [] : [[model, detail.split(' ')[0]]]
  })
  return Object.fromEntries(models)
}

async function waitFor(service: Service, isIt: (found: States) => boolean): Promise<void> {
  while (!isIt(await states(service))) await delay(LOOK_MS)
}
const areLive = (found: States): boolean =>
  Object.keys(found).length > 0 && Object.values(found).every((state) => state === 'live')

async function stop({ child }: Service): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Makes rows of today those of another version, so that they are built anew. */
function makeOther(names: readonly string[]): void {
  const db = new DatabaseSync(join(market, 'projections.db'))
  for (const name of names) db.prepare('UPDATE model SET version = version - 1 WHERE name = ?').run(name)
  db.close()
}

interface Read {
  readonly at: number
  readonly ms: number
  readonly status: number
}

/** Each connection reads the board until the signal. */
async function readAllTheTime({ url }: Service, reads: Read[], { signal }: AbortController): Promise<void> {
  const connection = async (): Promise<void> => {
    while (!signal.aborted) {
      const begun = performance.now()
      const { status } = await ask(`${url}/api/board?limit=100`)
      const at = performance.now()
      reads.push({ at, ms: at - begun, status })
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, connection))
}

function told(what: string, reads: readonly Read[]): void {
  const times = reads.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(times, share).toFixed(1))
  const longest = times.at(-1)?.toFixed(1)
  const refused = reads.filter(({ status }) => status !== 200).length
  print(
    `  ${what.padEnd(34)} ${times.length} answers, ${refused} refused, p50 ${p50}, p99 ${p99}, longest ${longest} ms`,
  )
}

const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`

const first = await start()
const firstBegan = performance.now()
await waitFor(first, areLive)
print(`every read model was built in ${seconds(firstBegan)}, at the start of a market`)
await stop(first)
makeOther(REBUILT)

const second = await start()
await waitFor(second, (found) => Object.keys(found).length > 0)
const began = performance.now()
const reads: Read[] = []
const ending = new AbortController()
const reading = readAllTheTime(second, reads, ending)
await waitFor(second, areLive)
print(`\n${REBUILT.join(' and ')} built in ${seconds(began)}, ${CONNECTIONS} connections reading the board`)
const built = performance.now()
await delay(AFTER_MS)
ending.abort()
await reading
const meanwhile = reads.filter(({ at }) => at < built)
told('while they were built', meanwhile)
told(
  'afterwards',
  reads.filter(({ at, ms }) => at - ms > built),
)
const longest = Math.max(...meanwhile.map(({ ms }) => ms))
print(`  the longest took ${longest.toFixed(0)} ms  ${longest <= MOST_MS ? 'meets' : 'MISSES'} ${MOST_MS}`)
await stop(second)
rmSync(directory, { recursive: true, force: true })
