import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../contracts/json.ts'
import { START } from '../contracts/position.ts'
import { createQuotaLedger, type Identity, planWindow } from '../services/accounts/index.ts'
import { sampleAnswer } from '../services/api/mcp/testing/sample-answers.fixture.ts'
import { type CallPath, createCallPath } from '../services/calls/index.ts'
import { sleep } from '../services/platform/async/sleep.ts'
import { openEmbeddedStore } from '../services/platform/event-store/embedded/embedded-store.ts'
import { createFactIds } from '../services/platform/ids/fact-id.ts'
import { createRandomPool } from '../services/platform/ids/random-pool.ts'
import { uuidV7 } from '../services/platform/ids/uuid.ts'
import { reportMcpLoad } from './support/mcp-load.ts'
import { measure, print, report } from './support/measure.ts'

/**
 * What a counted tool call costs: over HTTP with its debit durable, beside a bare POST of the same answer and
 * the SDK alone; and debits per second on one account, where all wait for one another, and on a thousand. The
 * desk answers at once, and keys are known: neither is what is measured.
 *
 * node bench/calls.bench.ts          BENCH_ROUNDS=3 BENCH_SECONDS=1
 *
 * Budget: keyed `tools/call`, debit durable, at least 0.45 of the bare POST.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const ACCOUNTS = 1_000
const DEBITS_AT_ONCE = 64
const DEBITS_PER_ROUND = 4_000

const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-calls-'))
const store = await openEmbeddedStore({ directory, now: Date.now })
const random = createRandomPool(randomBytes)
const newId = (): string => uuidV7(Date.now(), random(10))
const idOf = createFactIds(randomBytes(32))
const ending = new AbortController()
const ledger = createQuotaLedger({
  store,
  // Nobody sends an idempotency key here.
  index: { find: () => undefined, position: () => START },
  idOf,
  newId,
  now: Date.now,
  sleep,
  signal: ending.signal,
})
const begun = Date.now()
const accounts = Array.from({ length: ACCOUNTS }, () => newId())
const keyId = newId()

/** Accounts whose allowance does not end before the benchmark does. */
const window = planWindow(begun, begun + 86_400_000)
for (const id of accounts.slice(0, 1)) {
  await ledger.grant({ id, tier: 'pro', window }, 1_000_000, 'benchmark', { at: begun, requestId: newId() })
}

const identityOf = (index: number): Identity => ({
  outcome: 'OK',
  accountId: accounts[index % ACCOUNTS] ?? '',
  keyId,
  tier: 'pro',
  window,
})

const answer: JsonObject = sampleAnswer('get_trade_call')
/** What a desk answers is without what the path adds. */
const { _service, ...computed } = answer
const pathOf = (identify: () => Identity): CallPath =>
  createCallPath({
    admit: async () => undefined,
    identify: async () => identify(),
    anonymousPayer: () => 'nobody',
    ledger,
    answer: async () => computed,
    market: 'simulated',
    version: '0.0.0',
    now: Date.now,
  })

const oneAccount = pathOf(() => identityOf(0))
let turn = 0
const manyAccounts = pathOf(() => identityOf(++turn))

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

for (const [payers, calls] of [
  ['one key', oneAccount],
  [`${ACCOUNTS.toLocaleString('en')} keys in turn`, manyAccounts],
] as const) {
  print(`\n${payers}, every call counted`)
  await reportMcpLoad({
    calls,
    answer,
    authorization: 'Bearer sk_live_bench',
    connections: [16, 64],
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
ending.abort()
await store.close()
rmSync(directory, { recursive: true })
