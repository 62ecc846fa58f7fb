import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { NewEvent } from '../contracts/event.ts'
import { START } from '../contracts/position.ts'
import { createQuotaLedger, planWindow } from '../services/accounts/index.ts'
import { openReplayWorker, replaysInTurns } from '../services/analyst/index.ts'
import { createServer, readinessOf } from '../services/api/index.ts'
import { mcpOptions } from '../services/api/mcp/testing/mcp-edge.fixture.ts'
import { sampleAnswer } from '../services/api/mcp/testing/sample-answers.fixture.ts'
import { NO_READ_MODELS } from '../services/api/testing/no-read-models.ts'
import { createCallPath } from '../services/calls/index.ts'
import { createFairTurns } from '../services/platform/async/fair-turns.ts'
import { sleep } from '../services/platform/async/sleep.ts'
import { logFile, openEmbeddedStore } from '../services/platform/event-store/embedded/embedded-store.ts'
import { createFactIds } from '../services/platform/ids/fact-id.ts'
import { createRandomPool } from '../services/platform/ids/random-pool.ts'
import { uuidV7 } from '../services/platform/ids/uuid.ts'
import { print, quantile } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'

/**
 * What replays of others do to who makes tool calls: the median of a keyed call, counted and durable, beside the same
 * without replays, in turn. Those of a server whose log lies elsewhere, which reads on the thread that answers calls,
 * are measured over the same log.
 *
 * node bench/replays.bench.ts          BENCH_EVENTS=200000 BENCH_ROUNDS=3 BENCH_SECONDS=2
 *
 * Budget: with 40 replays from ten addresses less than 3 times the median without.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 200_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const FOR_MS = Number(process.env.BENCH_SECONDS ?? 2) * 1_000
const PER_APPEND = 200

const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-replays-'))
const store = await openEmbeddedStore({ directory, now: Date.now })
const random = createRandomPool(randomBytes)
const newId = (): string => uuidV7(Date.now(), random(10))
const template = sampleVerdict(0, randomBytes, Date.now())
for (let n = 0; n < EVENTS; n += PER_APPEND) {
  const coin = `C${(n / PER_APPEND) % 100}`
  const one = (): NewEvent => ({ ...template, id: newId(), data: { ...template.data, coin, validUntil: 0 } })
  const events = Array.from({ length: PER_APPEND }, one)
  await store.append(`verdict-BINANCE.${coin}.1m`, events, { expected: 'any' })
}

const ending = new AbortController()
const begun = Date.now()
const payer = { id: newId(), tier: 'pro', window: planWindow(begun, begun + 86_400_000) } as const
const ledger = createQuotaLedger({
  store,
  index: { find: () => undefined, position: () => START },
  idOf: createFactIds(randomBytes(32)),
  newId,
  now: Date.now,
  sleep,
  signal: ending.signal,
})
await ledger.grant(payer, 1_000_000, 'benchmark', { at: begun, requestId: newId() })
const { _service, ...computed } = sampleAnswer('get_trade_call')
const calls = createCallPath({
  admit: async () => undefined,
  identify: async () => ({
    outcome: 'OK',
    accountId: payer.id,
    keyId: newId(),
    tier: 'pro',
    window: payer.window,
  }),
  anonymousPayer: () => 'nobody',
  ledger,
  answer: async () => computed,
  market: 'simulated',
  version: '0.0.0',
  now: Date.now,
})

const worker = openReplayWorker({ file: logFile(directory) })
const inTurns = replaysInTurns(
  store,
  createFairTurns({ turnMs: 2, rest: (ranMs) => sleep(ranMs, ending.signal), now: () => performance.now() }),
)

async function serve(replay: typeof worker.replay) {
  const app = await createServer({
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
    version: 'bench',
    market: 'simulated',
    operatorToken: undefined,
    newId,
    trustProxy: { hops: 1 },
    marketNow: Date.now,
    readiness: async () => readinessOf([]),
    replay,
    follow: async function* () {},
    ...NO_READ_MODELS,
    mcp: mcpOptions({ calls }),
    answerTool: async () => null,
  })
  return { app, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

const run = promisify(execFile)
const script = (name: string): string => join(import.meta.dirname, 'support', name)

async function medianOf(url: string): Promise<number> {
  const { stdout } = await run(process.execPath, [script('call-latencies.ts'), url, String(FOR_MS)])
  const sorted = (JSON.parse(stdout) as number[]).toSorted((a, b) => a - b)
  return quantile(sorted, 0.5)
}

async function medianBeside(url: string, args: readonly string[]): Promise<number> {
  const readers = spawn(process.execPath, [script('replay-readers.ts'), url, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(readers.stdout, 'data')
  try {
    return await medianOf(url)
  } finally {
    readers.kill()
    await once(readers, 'exit')
  }
}

const LOADS: Readonly<Record<string, readonly string[]>> = {
  '4 replays of one address': ['1', '4', ''],
  '4 of one address that match nothing': ['1', '4', '?coin=NOSUCH'],
  '4 of one address as Parquet': ['1', '4', '?format=parquet'],
  '40 replays of ten addresses': ['10', '4', ''],
}

for (const [where, replay] of [
  ['read on a thread of their own', worker.replay],
  ['read in turns on the thread that answers', inTurns],
] as const) {
  const { app, url } = await serve(replay)
  const all = new Map<string, { median: number; ratio: number }[]>()
  await medianOf(url)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, args] of Object.entries(LOADS)) {
      const idle = await medianOf(url)
      const median = await medianBeside(url, args)
      const list = all.get(name) ?? []
      all.set(name, [...list, { median, ratio: median / idle }])
    }
  }
  print(`\na keyed tool call while others replay ${EVENTS.toLocaleString('en')} verdicts, ${where}`)
  for (const [name, list] of all) {
    const ratios = list.map(({ ratio }) => ratio).toSorted((a, b) => a - b)
    const medians = list.map(({ median }) => median).toSorted((a, b) => a - b)
    const [low = 0, high = 0] = [ratios[0], ratios.at(-1)]
    const ratio = quantile(ratios, 0.5)
    const verdict = name.startsWith('40') ? (ratio < 3 ? '  meets 3' : '  MISSES 3') : ''
    print(
      `  ${name.padEnd(38)} p50 ${quantile(medians, 0.5).toFixed(2)} ms, × ${ratio.toPrecision(3)} of idle [${low.toPrecision(2)}–${high.toPrecision(2)}]${verdict}`,
    )
  }
  await app.close()
}
ending.abort()
await worker.close()
await store.close()
rmSync(directory, { recursive: true })
