import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Pool } from 'undici'
import type { ResolveName } from '../services/webhooks/sending/resolve-name.ts'
import { createSign } from '../services/webhooks/sending/sign.ts'
import { TEST_CERTIFICATE } from '../services/webhooks/sending/testing/test-certificate.fixture.ts'
import { createSecret } from '../services/webhooks/subscriptions/subscription-secrets.ts'
import { type Candidate, measure, print, quantile, report } from './support/measure.ts'
import { startReceiver } from './support/receivers.ts'
import { openWebhookWorld } from './support/webhook-world.ts'

/**
 * Webhooks over TLS 1.3, each endpoint at a host of its own. On kept connections: deliveries with durable attempts,
 * beside the raw client, each after as many that are not counted: a round has a store of its own, whose thread begins
 * with code that was never compiled, which happens to a service once, at its start. On new ones: how long one signal
 * takes to so many endpoints that have no connection, beside the same without TLS.
 *
 * The certificate is signed by itself: a chain of authorities makes handshakes in whole dearer, and resumed ones not.
 *
 * node bench/tls.bench.ts          BENCH_ROUNDS=5 BENCH_DELIVERIES=20000 BENCH_SUBSCRIPTIONS=10000
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 20_000)
const COLD_ENDPOINTS = Number(process.env.BENCH_SUBSCRIPTIONS ?? 10_000)
const ENDPOINTS = 100
const IN_FLIGHT = 64
/** Signals that open the connections and warm up a round, before the clock runs. */
const OPENING = Math.round(DELIVERIES / ENDPOINTS)

setDefaultCACertificates([...getCACertificates('default'), TEST_CERTIFICATE])
const resolve: ResolveName = async () => [{ address: '127.0.0.1', family: 4 }]
const kept = await startReceiver('tls')
const cold = await startReceiver('tls', 'close')
const plain = await startReceiver()
const hostOf = ({ port }: { port: number }, n: number, scheme = 'https'): string =>
  `${scheme}://h${n}.hooks.example.com:${port}`

const sign = createSign({ userAgent: 'bench' })
const secrets = [createSecret((bytes) => randomBytes(bytes))]
const body = Buffer.from(randomBytes(402).toString('hex'))
const headers = sign(secrets, {
  event: 'trade_call',
  deliveryId: randomUUID(),
  body,
  at: Date.now(),
  sequence: 1_000,
  attempt: 1,
})

const raw: Candidate = {
  name: 'undici Pool, one request again and again',
  async round() {
    const pool = new Pool(`https://127.0.0.1:${kept.port}`, { connections: IN_FLIGHT, allowH2: false })
    const send = async (count: number): Promise<void> => {
      let left = count
      const caller = async (): Promise<void> => {
        while (left-- > 0) {
          const response = await pool.request({ method: 'POST', path: '/raw', headers, body })
          await response.body.dump()
        }
      }
      await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
    }
    await send(OPENING * ENDPOINTS)
    const start = performance.now()
    await send(DELIVERIES)
    const milliseconds = performance.now() - start
    await pool.close()
    return { units: DELIVERIES, milliseconds }
  },
}
const dispatcher: Candidate = {
  name: 'dispatcher, every attempt durable',
  async round() {
    const world = await openWebhookWorld({ resolve })
    await world.subscribe(Array.from({ length: ENDPOINTS }, (_, n) => `${hostOf(kept, n)}/live/${n}`))
    world.start()
    // Several at once, as below: each endpoint has its connections then.
    await world.record(OPENING, 4)
    await world.until(OPENING * ENDPOINTS)
    const signals = Math.round(DELIVERIES / ENDPOINTS)
    const start = performance.now()
    await world.record(signals, 4)
    await world.until((OPENING + signals) * ENDPOINTS)
    const milliseconds = performance.now() - start
    await world.close()
    return { units: signals * ENDPOINTS, milliseconds }
  },
}
/** Processors that the receiver took in each round, by candidate: near one, it is what holds the work up. */
const receiving = new Map<string, number[]>()
const watched = (candidate: Candidate): Candidate => ({
  name: candidate.name,
  async round() {
    const [before, since] = [kept.cpuMs(), performance.now()]
    const done = await candidate.round()
    // The receiver takes part in the whole round, which sends more than it counts.
    const share = (kept.cpuMs() - before) / (performance.now() - since)
    receiving.set(candidate.name, [...(receiving.get(candidate.name) ?? []), share])
    return done
  },
})
report(
  `kept connections over TLS, ${DELIVERIES} deliveries of 0.8 KB, ${ENDPOINTS} endpoints of as many hosts`,
  'deliveries/s',
  await measure([raw, dispatcher].map(watched), ROUNDS),
  raw.name,
  { [dispatcher.name]: 0.3 },
)
for (const [name, shares] of receiving) {
  const share = quantile(
    shares.toSorted((a, b) => a - b),
    0.5,
  )
  print(`  the receiver took ${(share * 100).toFixed(0)} % of a processor for: ${name}`)
}

/**
 * After a start, one signal to all endpoints, and a second one: none of them has a connection at the first, and of the
 * second most have a session, since more origins are sent to than keep connections.
 */
async function afterStart(addressOf: (n: number) => string, signals: number): Promise<readonly number[]> {
  const world = await openWebhookWorld({ resolve })
  await world.subscribe(Array.from({ length: COLD_ENDPOINTS }, (_, n) => `${addressOf(n)}/live/${n}`))
  world.start()
  while (world.live < COLD_ENDPOINTS) await wait(5)
  let mostBytes = 0
  const watching = setInterval(() => {
    mostBytes = Math.max(mostBytes, process.memoryUsage.rss())
  }, 50)
  const times: number[] = []
  for (let signal = 1; signal <= signals; signal++) {
    const start = performance.now()
    await world.record(1)
    await world.until(signal * COLD_ENDPOINTS)
    times.push(performance.now() - start)
  }
  clearInterval(watching)
  print(
    `  ${addressOf(0).split(':')[0]}: to the last of ${COLD_ENDPOINTS} after ${times.map((time) => (time / 1_000).toFixed(1)).join(', then ')} s, ` +
      `${Math.round(mostBytes / 1_048_576)} MiB at most`,
  )
  await world.close()
  return times
}
const COLD_NAMES = ['without TLS', 'over TLS, never sent to before', 'over TLS, sent to before'] as const
let times: readonly number[] = []
const coldCandidate = (name: string, index: number): Candidate => ({
  name,
  async round() {
    if (index === 0)
      times = [
        ...(await afterStart((n) => hostOf(plain, n, 'http'), 1)),
        ...(await afterStart((n) => hostOf(kept, n), 2)),
      ]
    return { units: COLD_ENDPOINTS, milliseconds: times[index] ?? Number.NaN }
  },
})
print('')
// A round takes as long as all else here: one stands for five, and none warms up.
process.env.BENCH_WARM_UP = 'off'
report(
  `one signal after a start to ${COLD_ENDPOINTS} endpoints of as many hosts`,
  'deliveries/s',
  await measure(COLD_NAMES.map(coldCandidate), Math.ceil(ROUNDS / 5)),
  COLD_NAMES[0],
  { [COLD_NAMES[1]]: 0.33, [COLD_NAMES[2]]: 0.33 },
)
for (const receiver of [kept, cold, plain]) receiver.stop()
process.exit()
