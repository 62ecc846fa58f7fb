import { setTimeout as sleep } from 'node:timers/promises'
import { createSlowness, openPage, startSilence } from '../services/http/testing/slow-connections.fixture.ts'
import { startServiceProcess } from '../services/http/testing/start-service-process.ts'
import { print, quantile } from './support/measure.ts'

/**
 * The median time of each page of a whole service, beside slow connections: 20 forms that do not come whole, 16 documents of OAuth clients and 16 mails that never end, and 40 who read nothing; and without them,
 * in turn.
 *
 * node bench/slow-connections.bench.ts          BENCH_ROUNDS=5
 *
 * Budget: beside them less than 2 times the median without.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const VISITS = 10
const BUDGET = 2
const PAGES = ['/account', '/track-record', '/series/SIM/BTC/1h', '/webhooks']

const silence = await startSilence()
const service = await startServiceProcess({
  COINS: 'BTC,ETH',
  TIMEFRAMES: '1m,15m,1h',
  WEBHOOKS_ALLOW_PRIVATE: 'true',
  RATE_PER_ADDRESS: '1000000',
  SMTP_URL: `smtp://127.0.0.1:${silence.port}`,
  MAIL_FROM: 'Signals <signals@example.com>',
})
const times = { without: new Map<string, number[]>(), beside: new Map<string, number[]>() }

async function visit(kind: keyof typeof times): Promise<void> {
  for (let n = 0; n < VISITS; n++) {
    for (const page of PAGES) {
      const begunAt = performance.now()
      const status = await openPage(service.url, page, { localAddress: '127.0.9.99' })
      if (status !== 200) throw new Error(`${page} is answered with ${status}`)
      const taken = times[kind].get(page) ?? []
      times[kind].set(page, [...taken, performance.now() - begunAt])
    }
  }
}
const median = (values: readonly number[] = []): number =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )

await sleep(2_000)
await visit('without')
times.without.clear()
for (let round = 0; round < ROUNDS; round++) {
  await visit('without')
  const slowness = createSlowness(service.url, silence.port)
  slowness.forms(20)
  slowness.documents(16)
  slowness.mails(16)
  slowness.readers(40)
  await sleep(1_000)
  await visit('beside')
  slowness.stop()
  await sleep(3_000)
}
print('pages beside 92 slow connections')
for (const page of PAGES) {
  const [without, beside] = [median(times.without.get(page)), median(times.beside.get(page))]
  const ratio = beside / without
  print(
    `${page.padEnd(22)} ${without.toFixed(1)} ms, beside ${beside.toFixed(1)} ms: ${ratio.toFixed(2)} times${ratio < BUDGET ? '' : `  MISSES ${BUDGET}`}`,
  )
}
silence.stop()
await service.stop()
service.remove()
