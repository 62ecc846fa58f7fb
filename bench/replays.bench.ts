import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { NewEvent } from '../contracts/infra/event.ts'
import { ReplayWorker, replaysOnThisThread } from '../services/analyst/index.ts'
import { createServer } from '../services/composition/server.ts'
import { readinessOf } from '../services/http/routes/health.ts'
import { NO_READ_MODELS } from '../services/http/testing/no-read-models.ts'
import { logFile } from '../services/log/embedded/embedded-store.ts'
import { mcpOptions } from '../services/mcp/testing/mcp-edge.fixture.ts'
import { PROCESS_TIME } from '../services/runtime/admission/line.ts'
import { createTurns } from '../services/runtime/admission/turns.ts'
import { appendNext } from '../testing/append-next.ts'
import { besideLoad, reportBeside, startCaller } from './support/calls-beside-load.ts'
import { newId, openCountedCalls } from './support/counted-calls.ts'
import { print } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'
import { openScratch } from './support/scratch.ts'

/**
 * Effect of others' replays on callers of tools: the median of a keyed call, counted and durable, beside the same
 * without replays, in turn; the middle of the ratios of such pairs, and its quartiles. Those of a server whose log lies elsewhere, which reads on the thread that answers calls,
 * are measured over the same log.
 *
 * node bench/replays.bench.ts          BENCH_EVENTS=200000 BENCH_ROUNDS=11 BENCH_SECONDS=0.5
 *
 * Budget: with 40 replays from ten addresses less than 3 times the median without.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 200_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 11)
const FOR_MS = Number(process.env.BENCH_SECONDS ?? 0.5) * 1_000
const TIMES = { rounds: ROUNDS, forMs: FOR_MS }
const WARM_MS = 2_000
const PER_APPEND = 200

const scratch = await openScratch('replays')
const { directory, store } = scratch
const template = sampleVerdict(0, randomBytes, Date.now())
for (let n = 0; n < EVENTS; n += PER_APPEND) {
  const coin = `C${(n / PER_APPEND) % 100}`
  const one = (): NewEvent => ({ ...template, id: newId(), data: { ...template.data, coin, validUntil: 0 } })
  const events = Array.from({ length: PER_APPEND }, one)
  await appendNext(store, `verdict-BINANCE.${coin}.1m`, events)
}

const counted = await openCountedCalls(store)
const calls = await counted.pathOf(1)

const worker = new ReplayWorker({ file: logFile(directory) })
const inTurns = replaysOnThisThread(
  store,
  createTurns({ turnMs: 2, restMs: (ranMs) => ranMs, time: PROCESS_TIME }),
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
    readiness: async () => readinessOf([]),
    replay,
    follow: async function* () {},
    ...NO_READ_MODELS,
    mcp: mcpOptions({ calls }),
    answerTool: async () => null,
  })
  return { app, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
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
  const caller = startCaller(url)
  await caller.median(WARM_MS)
  print(`\na keyed tool call while others replay ${EVENTS.toLocaleString('en')} verdicts, ${where}`)
  for (const [name, args] of Object.entries(LOADS)) {
    const pairs = await besideLoad(caller, { script: 'replay-readers.ts', args: [url, ...args] }, TIMES)
    reportBeside(name, pairs, name.startsWith('40') ? 3 : undefined)
  }
  caller.stop()
  await app.close()
}
counted.close()
await worker.close()
await scratch.close()
