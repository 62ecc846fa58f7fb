import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { paymentStream } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { paymentFact } from '../../../projections/given-events.fixture.ts'
import { rowsInMemory } from '../../../projections/index.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import type { Chain } from '../chain/chain.ts'
import { type PaymentsRow, payments } from '../payments-projection.ts'
import { newId } from '../testing/payments-in-memory.fixture.ts'
import { NOW_S, nonceNumber } from '../testing/sign-payment.ts'
import type { Facilitator } from './facilitator.ts'
import { createSettler } from './settler.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const HONEST = `0x${'11'.repeat(20)}` as const
const VALID_MS = 300_000
/** The time that the facilitator takes for each payment. */
const LOOK_MS = 300

const contract = BASE.usdc.toLowerCase()
/** Made once of each type: checking the same form 3,000 times would be most of what this test does. */
const template = {
  claimed: paymentFact('PaymentClaimed', { contract, asset: contract, answer: '{}' }).event,
  requested: paymentFact('SettlementRequested', { paymentId: newId(), attempt: 1, settler: 'facilitator' })
    .event,
  failed: paymentFact('SettlementFailed', { paymentId: newId(), attempt: 1, reason: 'insufficient_funds' })
    .event,
}

/** The first events of a payment: claimed, and refused by the token already where it is one of the dead. */
function storyOf(payer: string, number: number, nowMs: number, isRefused: boolean) {
  const paymentId = newId()
  const nonce = nonceNumber(number)
  const like = (event: NewEvent, data: JsonObject = {}): NewEvent => ({
    ...event,
    id: newId(),
    data: { ...event.data, paymentId, ...data },
  })
  const validBefore = Math.floor((nowMs + VALID_MS) / 1_000)
  const claimed = like(template.claimed, { payer, nonce, validBefore })
  const refused = [like(template.requested), like(template.failed)]
  const stream = paymentStream({ chainId: BASE.id, contract, payer, nonce })
  return { stream, events: isRefused ? [claimed, ...refused] : [claimed] }
}

test('an honest payment among 1,024 of payers without funds is settled within its validity', async () => {
  const clock = createFakeClock(NOW_S * 1_000)
  const { now, sleep } = clock
  /** The clock goes on when there is nothing left to do at its time. */
  const goOnUntil = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) {
      for (let turn = 0; turn < 10; turn++) await setImmediate()
      clock.skip()
    }
  }
  const store = openMemoryStore({ now })
  const rows = rowsInMemory<PaymentsRow>()
  const at = new Date(now()).toISOString()
  for (let n = 1; n <= LIMITS.claimsWaiting; n++) {
    const payer = `0x${n.toString(16).padStart(40, 'd')}`
    const { stream, events } = storyOf(payer, n, now(), true)
    await store.append(stream, events, { expected: 'no-stream' })
    for (const event of events) payments.fold(rows, { ...event, stream, at } as unknown as ServiceEvent)
  }
  const keys = [...rows.entries.keys()].toSorted((one, other) => (one < other ? -1 : 1))
  const position = await store.head()

  let isHonestPaid = false
  const chain: Chain = {
    payerStatus: () => Promise.reject(new Error('not asked here')),
    outcomeOf: async ({ payer }) =>
      payer === HONEST && isHonestPaid
        ? { kind: 'paid', transaction: HASH, blockNumber: 1, blockHash: HASH }
        : { kind: 'unused' },
    blockTime: async () => Math.floor(now() / 1_000),
    blockHash: async () => HASH,
    finalBlock: async () => 0,
    chainId: async () => BASE.id,
  }
  const facilitator: Facilitator = {
    async settle({ payer }) {
      await sleep(LOOK_MS, new AbortController().signal)
      if (payer !== HONEST)
        return { kind: 'refused', why: 'insufficient_funds', reason: 'insufficient_funds' }
      isHonestPaid = true
      return { kind: 'settled', transaction: HASH }
    },
    verify: async () => ({ kind: 'valid' }),
    findTransfer: async () => undefined,
    problem: async () => undefined,
  }
  const ending = new AbortController()
  const settler = createSettler({
    on: BASE,
    store,
    reader: {
      get: (key) => rows.get(key),
      range: ({ prefix = '', after = '', limit }) => {
        const found = keys.filter((key) => key.startsWith(prefix) && key > after).slice(0, limit)
        return found.flatMap((key) => {
          const row = rows.get(key)
          return row === undefined ? [] : [{ key, row }]
        })
      },
      health: () => ({
        name: payments.name,
        version: payments.version,
        state: 'live',
        isWhole: true,
        hasBeenLive: true,
        retries: 0,
        position,
      }),
    },
    chain,
    facilitator,
    onPaid: async () => undefined,
    newId,
    now,
    elapsed: now,
    sleep,
    report: () => undefined,
  })
  const running = settler.run(ending.signal)
  await goOnUntil(() => settler.health().open === LIMITS.claimsWaiting)
  await goOnUntil(() => now() >= NOW_S * 1_000 + 5_000)

  const claimedAtMs = now()
  const honest = storyOf(HONEST, 1, claimedAtMs, false)
  await store.append(honest.stream, honest.events, { expected: 'no-stream' })
  let state = 'open'
  const watching = (async () => {
    for await (const item of store.subscribe({ after: position, signal: ending.signal })) {
      if (item.kind !== 'event' || item.event.stream !== honest.stream) continue
      if (item.event.type === 'SettlementConfirmed') state = 'confirmed'
    }
  })()
  await goOnUntil(() => state === 'confirmed' || now() - claimedAtMs >= VALID_MS)
  expect(state).toBe('confirmed')
  ending.abort()
  await goOnUntil(() => settler.health().open === 0)
  await Promise.all([running, watching])
}, 60_000)
