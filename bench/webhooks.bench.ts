import { spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Pool } from 'undici'
import { createSign } from '../services/webhooks/sending/sign.ts'
import { createSecret } from '../services/webhooks/subscriptions/subscription-secrets.ts'
import { redisServers } from '../testing/servers/redis-servers.ts'
import { type Candidate, measure, print, quantile, report } from './support/measure.ts'
import { listenHere, RECEIVER_HOSTS, startReceiver } from './support/receivers.ts'
import { openWebhookWorld } from './support/webhook-world.ts'

/**
 * Webhook deliveries per second with durable attempts, beside the raw client and beside BullMQ on Redis; what dead
 * endpoints cost the others; how soon a lone signal arrives; how fast an endpoint catches up; memory. The raw client
 * has this process to itself; beside the dispatcher the writer of its store has a thread, which takes its part of the
 * cores. The receiver is another process for all of them.
 *
 * node bench/webhooks.bench.ts          BENCH_ROUNDS=5 BENCH_DELIVERIES=20000
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 20_000)
/** The first twenty warm up. */
const SIGNALS = Number(process.env.BENCH_SIGNALS ?? 320)
const ENDPOINTS = 100
const IN_FLIGHT = 64
const PEERS = join(import.meta.dirname, 'peers')

const receiver = await startReceiver()
const { hostOf } = receiver
const base = hostOf(0)

const sign = createSign({ userAgent: 'bench' })
const secrets = [createSecret((bytes) => randomBytes(bytes))]
/** As long as the body of a delivery. */
const readyBody = Buffer.from(randomBytes(402).toString('hex'))
const signed = (body: Buffer) =>
  sign(secrets, {
    event: 'trade_call',
    deliveryId: randomUUID(),
    body,
    at: Date.now(),
    sequence: 1_000,
    attempt: 1,
  })
const pool = new Pool(base, { connections: IN_FLIGHT })

/** Requests over as many connections as the dispatcher has, and as many at a time. Nothing is recorded. */
const raw = (name: string, prepare: () => { body: Buffer; headers: Record<string, string> }): Candidate => ({
  name,
  async round() {
    const start = performance.now()
    let left = DELIVERIES
    const caller = async (): Promise<void> => {
      while (left-- > 0) {
        const response = await pool.request({ method: 'POST', path: '/raw', ...prepare() })
        await response.body.dump()
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
    return { units: DELIVERIES, milliseconds: performance.now() - start }
  },
})
const ready = { body: readyBody, headers: signed(readyBody) }
const rawReady = raw('undici Pool, one request again and again', () => ready)
const rawSigned = raw('undici Pool, each with a body and signatures', () => {
  const body = Buffer.from(readyBody)
  return { body, headers: signed(body) }
})

/** @param dead of the endpoints, how many never answer */
const dispatching = (name: string, dead: number): Candidate => ({
  name,
  async round() {
    const connectionsPerOrigin = IN_FLIGHT / RECEIVER_HOSTS.length
    const world = await openWebhookWorld({ attemptMs: 2_000, connectionsPerOrigin })
    const healthy = ENDPOINTS - dead
    const urls = Array.from(
      { length: ENDPOINTS },
      (_, n) => `${hostOf(n)}/${n < dead ? 'dead' : 'live'}/${n}`,
    )
    await world.subscribe(urls)
    world.start()
    // Connections and code are warm before it counts.
    await world.record(5)
    await world.until(5 * healthy)
    const signals = Math.round(DELIVERIES / ENDPOINTS)
    const start = performance.now()
    await world.record(signals, 4)
    await world.until((5 + signals) * healthy)
    const milliseconds = performance.now() - start
    await world.close()
    return { units: signals * healthy, milliseconds }
  },
})

const own = dispatching('dispatcher, every attempt durable', 0)
const candidates = [
  rawReady,
  rawSigned,
  own,
  dispatching('the same, 2 % of endpoints hang', 2),
  dispatching('the same, 10 % hang', 10),
]
const redis = await redisServers({ killable: true })
const hasBullMq = existsSync(join(PEERS, 'node_modules', 'bullmq'))
const server = hasBullMq && redis.missing === undefined ? await redis.start() : undefined
if (server === undefined) {
  print(`BullMQ left out: ${hasBullMq ? redis.missing : 'run `npm ci --prefix bench/peers` first'}`)
} else {
  candidates.push({
    name: 'BullMQ on Redis',
    async round() {
      const args = [
        join(PEERS, 'bullmq-deliveries.ts'),
        server.url,
        `${base}/bull`,
        String(DELIVERIES),
        String(IN_FLIGHT),
      ]
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      if (status !== 0) throw new Error(stderr)
      return JSON.parse(stdout) as { units: number; milliseconds: number }
    },
  })
}
const measured = await measure(candidates, ROUNDS)
report(
  `${DELIVERIES} deliveries of 0.8 KB, ${ENDPOINTS} endpoints`,
  'deliveries/s',
  measured,
  rawReady.name,
  {
    [own.name]: 0.3,
  },
)
report('beside a sender that signs and records nothing', 'deliveries/s', measured, rawSigned.name)
report('beside itself without dead endpoints', 'deliveries/s', measured, own.name, {
  'the same, 2 % of endpoints hang': 0.85,
})
if (server !== undefined) {
  report('beside BullMQ', 'deliveries/s', measured, 'BullMQ on Redis', { [own.name]: 1.5 })
  await server.stop()
}
await pool.close()

await reportLatency('idle', 0, 10)
await reportLatency('with 2,000 other deliveries a second', 100, 40)
await reportCatchUp()
await reportSubscriptions()
receiver.stop()

/**
 * From the answer of a signal's append, or before, to its POST at one endpoint: without anything else, and while
 * others are sent to.
 */
async function reportLatency(what: string, others: number, pauseMs: number): Promise<void> {
  const world = await openWebhookWorld({ connectionsPerOrigin: IN_FLIGHT })
  const here = await listenHere()
  await world.subscribe([...Array.from({ length: others }, (_, n) => `${base}/live/${n}`), here.url])
  world.start()
  const latencies: number[] = []
  for (let n = 0; n < SIGNALS; n++) {
    const arrival = here.next()
    const start = performance.now()
    await world.record(1)
    const appended = performance.now()
    const at = await arrival
    if (n >= 20) latencies.push(Math.max(0, at - appended))
    if (n === 0 && others === 0) print(`\nfirst signal after the start: ${(at - start).toFixed(0)} ms`)
    await wait(pauseMs)
  }
  await world.close()
  here.close()
  const sorted = latencies.toSorted((a, b) => a - b)
  const [p50, p99] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
  const verdict = others > 0 ? '' : p50 < 5 && p99 < 50 ? '  meets 5 and 50' : '  MISSES 5 and 50'
  print(`appended → POST received, ${what}: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms${verdict}`)
}

/** As many as the highest plan sends in a minute. */
async function reportCatchUp(): Promise<void> {
  const events = Number(process.env.BENCH_BEHIND ?? 3_500)
  const world = await openWebhookWorld()
  await world.record(events, 128)
  await world.subscribe([`${base}/behind`])
  const start = performance.now()
  world.start()
  await world.until(events)
  const seconds = (performance.now() - start) / 1_000
  const rate = Math.round(events / seconds)
  print(`catch-up of one endpoint ${events} signals behind, without its pacing: ${rate} deliveries/s`)
  await world.close()
}

/** Cost of subscriptions without anything to send, and the time until they are taken up. */
async function reportSubscriptions(): Promise<void> {
  const count = Number(process.env.BENCH_SUBSCRIPTIONS ?? 10_000)
  const world = await openWebhookWorld({ connectionsPerOrigin: IN_FLIGHT })
  await world.subscribe(Array.from({ length: count }, (_, n) => `${base}/idle/${n}`))
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = heap()
  const start = performance.now()
  world.start()
  while (world.live < count) await wait(5)
  const begun = performance.now() - start
  const idle = heap()
  const signalled = performance.now()
  await world.record(1)
  await world.until(count)
  const sent = performance.now() - signalled
  await wait(500)
  const used = heap()
  const each = (bytes: number): string => `${((bytes - before) / count / 1_024).toFixed(1)} KiB`
  print(
    `${count} subscriptions: taken up in ${begun.toFixed(0)} ms, one signal to each in ${sent.toFixed(0)} ms`,
  )
  print(`memory of one: ${each(idle)} idle, ${each(used)} once it was sent to`)
  await world.close()
}
