import type { CallPath } from '../services/tool-calls/index.ts'
import { openCountedCalls } from './support/counted-calls.ts'
import { reportMcpLoad } from './support/mcp-load.ts'
import { measure, print, report } from './support/measure.ts'
import { openScratch } from './support/scratch.ts'

/**
 * Cost of a counted tool call: over HTTP with its debit durable, beside a bare POST of the same answer; and debits per
 * second on one account, where all wait for one another, and on a thousand. The tool handler answers at once, and keys
 * are known: neither is what is measured.
 *
 * node bench/calls.bench.ts          BENCH_ROUNDS=3 BENCH_SECONDS=1
 *
 * Budget: keyed `tools/call`, debit durable, at least 0.38 of the bare POST with one key, and 0.28 with a thousand.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const ACCOUNTS = 1_000
const DEBITS_AT_ONCE = 64
const DEBITS_PER_ROUND = 4_000

const scratch = await openScratch('calls')
const { store } = scratch
const counted = await openCountedCalls(store)
const oneAccount = await counted.pathOf(1)
const manyAccounts = await counted.pathOf(ACCOUNTS)

/** Calls without HTTP, so many at once. */
const debits = (name: string, path: CallPath) => ({
  name,
  async round() {
    const start = performance.now()
    let left = DEBITS_PER_ROUND
    const caller = async (): Promise<void> => {
      while (left-- > 0) {
        await path.call({
          tool: 'get_trade_call',
          request: { coin: 'BTC' },
          authorization: 'Bearer key',
          address: '127.0.0.1',
          idempotencyKey: undefined,
          requestId: 'bench',
          channel: 'http',
        })
      }
    }
    await Promise.all(Array.from({ length: DEBITS_AT_ONCE }, caller))
    return { units: DEBITS_PER_ROUND, milliseconds: performance.now() - start }
  },
})

for (const [payers, calls, floor] of [
  ['one key', oneAccount, 0.38],
  [`${ACCOUNTS.toLocaleString('en')} keys in turn`, manyAccounts, 0.28],
] as const) {
  print(`\n${payers}, every call counted`)
  await reportMcpLoad({
    calls,
    answer: counted.answer,
    authorization: 'Bearer sk_live_bench',
    payers: `${payers}, `,
    floor,
    connections: [64],
    rounds: ROUNDS,
    seconds: SECONDS,
  })
}

const ONE = 'one account, contended'
report(
  `debits with their answers, durable, ${DEBITS_AT_ONCE} at a time`,
  'calls/s',
  await measure(
    [debits(ONE, oneAccount), debits(`${ACCOUNTS.toLocaleString('en')} accounts`, manyAccounts)],
    ROUNDS,
  ),
  ONE,
)
counted.close()
await scratch.close()
