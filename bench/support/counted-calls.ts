import { randomBytes } from 'node:crypto'
import { type JsonObject, textOf } from '../../contracts/infra/json.ts'
import { START } from '../../contracts/infra/position.ts'
import { createQuotaLedger, planWindow } from '../../services/accounts/index.ts'
import type { EventStore } from '../../services/log/event-store.ts'
import { sampleAnswer } from '../../services/mcp/testing/sample-answers.fixture.ts'
import { sleep } from '../../services/runtime/async/sleep.ts'
import { createFactIds } from '../../services/runtime/ids/fact-id.ts'
import { createRandomPool } from '../../services/runtime/ids/random-pool.ts'
import { uuidV7 } from '../../services/runtime/ids/uuid.ts'
import { type CallPath, createCallPath } from '../../services/tool-calls/index.ts'

const draw = createRandomPool(randomBytes)
/** Made as the service makes its ids. */
export const newId = (): string => uuidV7(Date.now(), draw(10))

/** Answers at once as the tool handler does, without the part that the path adds: what is made anew is their age. */
export function answersLike({
  _service,
  data_age_ms: _age,
  ...ageless
}: JsonObject): () => Promise<JsonObject> {
  const begun = Date.now()
  return async () => {
    const age = Date.now() - begun
    const aged = { ...ageless, data_age_ms: age }
    textOf(aged, textOf(ageless).with(`"data_age_ms":${age}`))
    return aged
  }
}

const CALLS_OF_A_WINDOW = 90_000

/**
 * Tool calls that are counted and durable, of accounts whose allowance does not end before a benchmark does. The tool handler
 * answers at once, and keys are known: neither is what is measured.
 */
export async function openCountedCalls(store: EventStore) {
  const ending = new AbortController()
  const ledger = createQuotaLedger({
    store,
    // Nobody sends an idempotency key here.
    index: { find: () => undefined, position: () => START },
    idOf: createFactIds(randomBytes(32)),
    newId,
    now: Date.now,
    sleep,
    signal: ending.signal,
  })
  const begun = Date.now()
  /** A plan has calls for some seconds only, so the next one takes its place in time. */
  const windowOf = (number: number) => planWindow(begun - number * 1_000, begun + 86_400_000)
  const answer: JsonObject = sampleAnswer('get_trade_call')
  const keyId = newId()

  return {
    answer,
    /** Calls of so many accounts in turn. */
    async pathOf(count: number): Promise<CallPath> {
      const accounts = Array.from({ length: count }, newId)
      let calls = 0
      return createCallPath({
        identify: async () => {
          calls += 1
          const window = windowOf(Math.floor(calls / count / CALLS_OF_A_WINDOW))
          return { outcome: 'OK', accountId: accounts[calls % count] ?? '', keyId, tier: 'pro', window }
        },
        anonymousPayer: () => 'nobody',
        ledger,
        answer: answersLike(answer),
        market: 'simulated',
        version: '0.0.0',
        now: Date.now,
      })
    },
    close: (): void => ending.abort(),
  }
}
