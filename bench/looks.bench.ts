import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LIMITS } from '../contracts/limits.ts'
import { aWebhookEdge } from '../services/http/testing/webhook-edge.fixture.ts'
import { type PacerOptions, pacedReads } from '../services/log/pacer.ts'
import type { Question } from './support/ask-again.ts'
import { print, quantile } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'
import { openScratch } from './support/scratch.ts'

/**
 * Cost of owners' questions about their webhooks to everybody else: the latency of `/livez` while one key lists its
 * subscriptions, all far behind in the log, over ten connections; while it asks for one of them; and while ten keys make
 * dry runs over the whole log. Half a minute.
 *
 * node bench/looks.bench.ts          BENCH_EVENTS=50000 BENCH_SECONDS=3
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 50_000)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3)
const KEYS = 10
const CONNECTIONS = 10
const PROBE = join(import.meta.dirname, 'support', 'get-latencies.ts')
const LOAD = join(import.meta.dirname, 'support', 'ask-again.ts')
const run = promisify(execFile)

const scratch = await openScratch('looks')
const { store } = scratch
for (let n = 0; n < EVENTS; n += 250) {
  const events = Array.from({ length: 250 }, (_, k) => sampleVerdict(n + k, randomBytes, Date.now()))
  await store.append('verdict-BINANCE.BTC.1m', events, { expected: 'any' })
}
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const pacing: PacerOptions = {
  sliceMs: LIMITS.webhookLookSliceMs,
  restRatio: LIMITS.webhookLookRestRatio,
  now: () => performance.now(),
  sleep,
}
const edge = await aWebhookEdge({ store, now: Date.now(), looking: (log) => pacedReads(log, pacing) })
await edge.app.listen({ port: 0, host: '127.0.0.1' })
const base = `http://127.0.0.1:${(edge.app.server.address() as AddressInfo).port}`

const keys = await Promise.all(
  Array.from({ length: KEYS }, async (_, n) => (await edge.issueKey(`bench${n}@example.com`)).key),
)
const [first = ''] = keys
const ids: string[] = []
for (let n = 0; n < LIMITS.subscriptionsOnFree; n++) {
  const created = await edge.ask('POST', '/api/webhooks', {
    as: first,
    payload: { url: 'https://bot.example.com/hook', events: ['trade_call'], start: '1' },
  })
  ids.push(created.body.id)
  await edge.ask('POST', `/api/webhooks/${created.body.id}/pause`, { as: first })
}

/** Asks from a process of its own for as long as the probe runs. */
async function load(questions: readonly Question[]): Promise<{ answered: number; refused: number }> {
  const { stdout } = await run(process.execPath, [LOAD, String(SECONDS * 1_000), JSON.stringify(questions)])
  return JSON.parse(stdout) as { answered: number; refused: number }
}

async function livez(): Promise<readonly number[]> {
  const { stdout } = await run(process.execPath, [PROBE, `${base}/livez`, String(SECONDS * 1_000)])
  return (JSON.parse(stdout) as number[]).toSorted((a, b) => a - b)
}

const each = (count: number, question: (n: number) => Question): Question[] =>
  Array.from({ length: count }, (_, n) => question(n))
const dryRun = { events: ['trade_call'], assets: ['top:1'], only_changes: true, from: '1', limit: 0 }
const CASES: readonly (readonly [string, readonly Question[]])[] = [
  ['idle', []],
  [
    'one key lists',
    each(CONNECTIONS, () => ({ method: 'GET', url: `${base}/api/webhooks?limit=100`, key: first })),
  ],
  [
    'one key asks for one',
    each(CONNECTIONS, (n) => ({
      method: 'GET',
      url: `${base}/api/webhooks/${ids[n % ids.length]}`,
      key: first,
    })),
  ],
  [
    `${KEYS} keys make dry runs`,
    each(KEYS, (n) => ({
      method: 'POST',
      url: `${base}/api/webhooks/dry-run`,
      key: keys[n] ?? '',
      body: dryRun,
    })),
  ],
]
let idleP50 = Number.NaN
for (const [name, questions] of CASES) {
  const [latencies, { answered, refused }] = await Promise.all([livez(), load(questions)])
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)]
  if (questions.length === 0) idleP50 = p50
  const rates = `${(answered / SECONDS).toFixed(1)} answers/s, ${(refused / SECONDS).toFixed(1)} refused/s`
  print(
    `${name.padEnd(24)} /livez p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${(p50 / idleP50).toFixed(1)} × idle; ${rates}`,
  )
}
await edge.close()
await scratch.close()
