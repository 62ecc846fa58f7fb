import { setTimeout as wait } from 'node:timers/promises'
import { print, quantile } from './support/measure.ts'
import { listenHere, startReceiver } from './support/receivers.ts'
import { openWebhookWorld } from './support/webhook-world.ts'

/**
 * One signal for everybody: from its recording to the first and to the last of N endpoints, how a burst of them is
 * sent off, and the memory that it takes; and what endpoints that answer 200 after 14.5 s cost a healthy one.
 *
 * node bench/fan-out.bench.ts          BENCH_FANOUT=100,2000,10000 BENCH_SLOW_SECONDS=30
 */
const SIZES = (process.env.BENCH_FANOUT ?? '100,2000,10000').split(',').map(Number)
const SLOW_SECONDS = Number(process.env.BENCH_SLOW_SECONDS ?? 30)
const EVENTS = 5
const BURST = 20
const MOST_BYTES = 1_073_741_824
const SLOW = 50
const SLOW_MS = 14_500

const receiver = await startReceiver()
const base = receiver.hostOf(0)

for (const size of SIZES) await reportFanOut(size)
await reportSlow()
receiver.stop()
process.exit()

async function reportFanOut(count: number): Promise<void> {
  const world = await openWebhookWorld({ connectionsPerOrigin: 64 })
  await world.subscribe(Array.from({ length: count }, (_, n) => `${base}/live/${n}`))
  world.start()
  while (world.live < count) await wait(5)
  await world.record(1)
  await world.until(count)
  const [firsts, lasts]: [number[], number[]] = [[], []]
  for (let n = 0; n < EVENTS; n++) {
    const delivered = world.delivered
    const start = performance.now()
    await world.record(1)
    await world.until(delivered + 1)
    firsts.push(performance.now() - start)
    await world.until(delivered + count)
    lasts.push(performance.now() - start)
  }
  let mostBytes = 0
  const watching = setInterval(() => {
    mostBytes = Math.max(mostBytes, process.memoryUsage().rss)
  }, 50)
  const delivered = world.delivered
  const start = performance.now()
  await world.record(BURST)
  await world.until(delivered + BURST * count)
  const seconds = (performance.now() - start) / 1_000
  clearInterval(watching)
  await world.close()
  const sorted = (values: number[]): number[] => values.toSorted((a, b) => a - b)
  print(
    `${count} endpoints: one signal recorded as delivered to the first p50 ${quantile(sorted(firsts), 0.5).toFixed(1)} ms, ` +
      `to the last p50 ${quantile(sorted(lasts), 0.5).toFixed(0)} ms`,
  )
  const verdict = mostBytes < MOST_BYTES ? 'meets 1 GiB' : 'MISSES 1 GiB'
  print(
    `  ${BURST} signals at once for all: ${Math.round((BURST * count) / seconds)} deliveries/s, ` +
      `${Math.round(mostBytes / 1_048_576)} MiB at most, ${verdict}`,
  )
}

/** The median time to a healthy endpoint, one signal after the other, beside others that take long for each. */
async function medianOfHealthy(others: readonly string[]): Promise<number> {
  const world = await openWebhookWorld({ connectionsPerOrigin: 64 })
  const here = await listenHere()
  await world.subscribe([...others, here.url])
  world.start()
  const tookMs: number[] = []
  for (const until = performance.now() + SLOW_SECONDS * 1_000; performance.now() < until; ) {
    const arrival = here.next()
    const start = performance.now()
    await world.record(1)
    tookMs.push((await arrival) - start)
    await wait(100)
  }
  here.close()
  // What hangs is cut off when the world closes.
  await Promise.race([world.close(), wait(20_000)])
  return quantile(
    tookMs.slice(5).toSorted((a, b) => a - b),
    0.5,
  )
}

async function reportSlow(): Promise<void> {
  const slow = await listenHere(SLOW_MS)
  const alone = await medianOfHealthy([])
  const beside = await medianOfHealthy(Array.from({ length: SLOW }, (_, n) => `${slow.url}slow/${n}`))
  slow.close()
  const ratio = beside / alone
  print(
    `a healthy endpoint, p50: ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside ${SLOW} that answer 200 after ` +
      `${SLOW_MS / 1_000} s: ${ratio.toFixed(2)} × ${ratio < 2 ? 'meets 2' : 'MISSES 2'}`,
  )
}
