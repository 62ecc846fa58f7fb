import { spawn, spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'
import { redisServers } from '../services/platform/test-servers/redis-servers.ts'
import { createSecret } from '../services/webhooks/sending/secret.ts'
import { createSign } from '../services/webhooks/sending/sign.ts'
import { type Candidate, measure, print, quantile, report } from './support/measure.ts'
import { openWebhookWorld } from './support/webhook-world.ts'

/**
 * Webhook deliveries per second with durable attempts, beside the raw client and beside BullMQ on Redis; what dead
 * endpoints cost the others; how soon a lone signal arrives; how fast an endpoint catches up; memory.
 *
 * node bench/webhooks.bench.ts          BENCH_ROUNDS=5 BENCH_DELIVERIES=20000
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 20_000)
const ENDPOINTS = 100
const IN_FLIGHT = 64
const PEERS = join(import.meta.dirname, 'peers')

const receiver = spawn(process.execPath, [join(import.meta.dirname, 'support', 'webhook-receiver.ts')], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [portLine] = (await once(receiver.stdout, 'data')) as [Buffer]
const base = `http://127.0.0.1:${Number(portLine.toString())}`

/** As long as the body of a delivery; with its headers. */
const body = randomBytes(402).toString('hex')
const headers = createSign({ userAgent: 'bench' })([createSecret((bytes) => randomBytes(bytes))], {
  event: 'trade_call',
  deliveryId: randomUUID(),
  body: Buffer.from(body),
  at: Date.now(),
  sequence: 1_000,
  attempt: 1,
})
const pool = new Pool(base, { connections: IN_FLIGHT })
const raw: Candidate = {
  name: 'undici Pool, the same requests ready-made',
  async round() {
    const start = performance.now()
    let left = DELIVERIES
    const caller = async (): Promise<void> => {
      while (left-- > 0) {
        const response = await pool.request({ method: 'POST', path: '/raw', body, headers })
        await response.body.dump()
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
    return { units: DELIVERIES, milliseconds: performance.now() - start }
  },
}

/** @param dead of the endpoints, how many never answer */
const dispatching = (name: string, dead: number): Candidate => ({
  name,
  async round() {
    const world = await openWebhookWorld({ attemptMs: 2_000 })
    const healthy = ENDPOINTS - dead
    const urls = Array.from({ length: ENDPOINTS }, (_, n) => `${base}/${n < dead ? 'dead' : 'live'}/${n}`)
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
  raw,
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
report(`${DELIVERIES} deliveries of 0.8 KB, ${ENDPOINTS} endpoints`, 'deliveries/s', measured, raw.name, {
  [own.name]: 0.55,
})
report('beside itself without dead endpoints', 'deliveries/s', measured, own.name, {
  'the same, 2 % of endpoints hang': 0.85,
})
if (server !== undefined) {
  report('beside BullMQ', 'deliveries/s', measured, 'BullMQ on Redis', { [own.name]: 1.5 })
  await server.stop()
}
await pool.close()

await reportLatency()
await reportCatchUp()
await reportMemory()
receiver.kill()

/** A lone signal now and then: from the answer of its append, or before, to its POST. */
async function reportLatency(): Promise<void> {
  const world = await openWebhookWorld()
  let arrived = Promise.withResolvers<number>()
  const local = createServer((request, response) => {
    arrived.resolve(performance.now())
    request.resume()
    request.on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve))
  await world.subscribe([`http://127.0.0.1:${(local.address() as AddressInfo).port}/`])
  world.start()
  const latencies: number[] = []
  for (let n = 0; n < 320; n++) {
    arrived = Promise.withResolvers<number>()
    const start = performance.now()
    await world.record(1)
    const appended = performance.now()
    const at = await arrived.promise
    if (n >= 20) latencies.push(Math.max(0, at - appended))
    if (n === 0) print(`\nfirst signal after the start: ${(at - start).toFixed(0)} ms`)
    await wait(10)
  }
  await world.close()
  local.close()
  const sorted = latencies.toSorted((a, b) => a - b)
  const [p50, p99] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
  const verdict = p50 < 5 && p99 < 50 ? 'meets' : 'MISSES'
  print(
    `appended → POST received, idle: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms  ${verdict} 5 and 50`,
  )
}

async function reportCatchUp(): Promise<void> {
  const events = Number(process.env.BENCH_BEHIND ?? 50_000)
  const world = await openWebhookWorld()
  await world.record(events, 128)
  await world.subscribe([`${base}/behind`])
  const start = performance.now()
  world.start()
  await world.until(events)
  const seconds = (performance.now() - start) / 1_000
  print(`catch-up of one endpoint ${events} signals behind: ${Math.round(events / seconds)} deliveries/s`)
  await world.close()
}

async function reportMemory(): Promise<void> {
  const count = 10_000
  const world = await openWebhookWorld()
  await world.subscribe(Array.from({ length: count }, (_, n) => `${base}/idle/${n}`))
  const gc = (globalThis as { gc?: () => void }).gc
  gc?.()
  const before = process.memoryUsage().heapUsed
  const start = performance.now()
  world.start()
  await world.record(1)
  await world.until(count)
  const seconds = (performance.now() - start) / 1_000
  await wait(500)
  gc?.()
  const after = process.memoryUsage().heapUsed
  const note = gc === undefined ? ' (without --expose-gc: garbage included)' : ''
  print(`${count} subscriptions: begun, and one signal to each, within ${seconds.toFixed(1)} s`)
  print(`memory: ${((after - before) / count / 1_024).toFixed(1)} KiB a subscription${note}`)
  await world.close()
}
