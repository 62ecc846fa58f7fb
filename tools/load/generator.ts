import { readFileSync } from 'node:fs'
import { createHistogram } from 'node:perf_hooks'
import { Agent, request } from 'undici'
import { arrivalsOf } from './arrivals.ts'

/** Order for the process that makes the load, as JSON in its first argument. */
export interface Order {
  readonly url: string
  readonly keys: readonly string[]
  /** A file with signed payments, one a line, each good for one call; others are not made. */
  readonly payments: string
  /** Requests a second, and for how long. */
  readonly rate: number
  readonly seconds: number
  /** Draws when requests are to begin. */
  readonly seed: number
}

/** Its result. Latencies are in milliseconds from the planned begin of a request, not from its actual one. */
export interface Made {
  readonly sent: number
  readonly failed: number
  /** How many of them by what was asked for and what became of it: `/mcp: 503`. */
  readonly failures: Readonly<Record<string, number>>
  /** How many of the sent requests were paid. */
  readonly paid: number
  /** Not answered when the time was over. */
  readonly open: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly p9999: number
  /** How late requests began, at the 99th percentile: more than a few milliseconds is the generator's own fault. */
  readonly lateP99: number
  /** Share of one core that this process took. */
  readonly cpu: number
}

/** The longest wait for answers behind the last request, milliseconds. */
const PATIENCE_MS = 10_000
const NANOS = 1e6

/** Two in a hundred are paid for. */
const kinds = [
  {
    share: 0.6,
    path: '/mcp',
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
    },
    ok: [200],
  },
  { share: 0.78, path: '/x402/get_trade_call', body: { coin: 'BTC' }, isAnonymous: true, ok: [402] },
  {
    share: 0.8,
    path: '/x402/get_trade_call',
    body: { coin: 'BTC', timeframe: '1h' },
    isAnonymous: true,
    isPaid: true,
    ok: [200],
  },
  { share: 0.9, path: '/api/account', ok: [200] },
  { share: 1, path: '/api/verdicts?limit=20', ok: [200] },
] as const

const order = JSON.parse(process.argv[2] ?? '{}') as Order
// Fixed before the first request is sent.
const arrivals = arrivalsOf(order.rate, order.seconds, order.seed)
const payments = readFileSync(order.payments, 'utf8').split('\n')
const agent = new Agent({ connections: 256, pipelining: 1 })
const latency = createHistogram({ figures: 3, highest: 120_000 * NANOS })
const lateness = createHistogram({ figures: 3, highest: 120_000 * NANOS })
let [open, paid] = [0, 0]
const failures = new Map<string, number>()

function fail(path: string, what: string): void {
  const name = `${path.split('?')[0]}: ${what}`
  failures.set(name, (failures.get(name) ?? 0) + 1)
}

async function send(index: number, dueAt: number): Promise<void> {
  // The mix is the same for every rate: it follows from the number of the request.
  const drawn = (((index * 0.618_033_988_75) % 1) + 1) % 1
  const kind = kinds.find(({ share }) => drawn < share) ?? kinds[0]
  const key = order.keys[index % order.keys.length] ?? ''
  open += 1
  try {
    const { statusCode, body } = await request(order.url + kind.path, {
      dispatcher: agent,
      method: 'body' in kind ? 'POST' : 'GET',
      headers: {
        'content-type': 'application/json',
        // As many callers as come through a proxy: what one address may have at a time is not what is measured.
        'x-forwarded-for': `10.0.${(index >> 8) % 256}.${index % 256}`,
        ...('isAnonymous' in kind ? {} : { authorization: `Bearer ${key}` }),
        ...('isPaid' in kind && { 'payment-signature': payments[paid++] }),
      },
      ...('body' in kind && { body: JSON.stringify(kind.body) }),
    })
    await body.dump()
    if (!kind.ok.some((status) => status === statusCode)) fail(kind.path, String(statusCode))
  } catch (error) {
    fail(kind.path, error instanceof Error ? error.message : String(error))
  }
  open -= 1
  latency.record(Math.max(1, Math.round((performance.now() - dueAt) * NANOS)))
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))
const began = performance.now()
const cpu = process.cpuUsage()
for (let next = 0; next < arrivals.length; ) {
  const dueAt = began + (arrivals[next] ?? 0)
  const early = dueAt - performance.now()
  if (early > 0.5) {
    await pause(early)
    continue
  }
  lateness.record(Math.max(1, Math.round(-early * NANOS)))
  void send(next, dueAt)
  next += 1
}
const { user, system } = process.cpuUsage(cpu)
const tookMs = performance.now() - began
const until = performance.now() + PATIENCE_MS
// oxlint-disable-next-line no-unmodified-loop-condition -- answers change it
while (open > 0 && performance.now() < until) await pause(20)
const at = (percentile: number): number => latency.percentile(percentile) / NANOS
const made: Made = {
  sent: arrivals.length,
  failed: [...failures.values()].reduce((sum, count) => sum + count, 0),
  failures: Object.fromEntries(failures),
  paid,
  open,
  p50: at(50),
  p99: at(99),
  p999: at(99.9),
  p9999: at(99.99),
  lateP99: lateness.percentile(99) / NANOS,
  cpu: (user + system) / 1_000 / tookMs,
}
process.stdout.write(JSON.stringify(made), () => process.exit(0))
