import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CHAIN_ID, USDC_ADDRESS } from '../../../contracts/chain.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { EVENT_CATALOGUE, type EventType, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { paymentStream } from '../../../contracts/streams.ts'
import { type PaymentsRow, payments, rowsInMemory } from '../../../projections/index.ts'
import { openMemoryStore } from '../../platform/event-store/memory/memory-store.ts'
import type { Rehearsal, SettlementChain } from '../chain/chain.ts'
import { NOW_S, nonceNumber, PAY_TO } from '../testing/sign-payment.ts'
import { createSettler } from './settler.ts'
import type { Wallet } from './wallet.ts'

/** A clock that goes on when there is nothing left to do at its time. */
function virtualTime(startMs: number) {
  let nowMs = startMs
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>()
  return {
    now: () => nowMs,
    sleep: (milliseconds: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const sleeper = { at: nowMs + milliseconds, wake }
        function wake(): void {
          sleepers.delete(sleeper)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        sleepers.add(sleeper)
        signal.addEventListener('abort', wake)
      }),
    async goOnUntil(isSo: () => boolean): Promise<void> {
      while (!isSo()) {
        for (let turn = 0; turn < 10; turn++) await setImmediate()
        const [next] = [...sleepers].toSorted((one, other) => one.at - other.at)
        if (next === undefined) continue
        nowMs = Math.max(nowMs, next.at)
        next.wake()
      }
    },
  }
}

const HASH = `0x${'ab'.repeat(32)}` as const
const HONEST = `0x${'11'.repeat(20)}` as const
const VALID_MS = 300_000
/** What a look of the settler takes, whatever it is at. */
const LOOK_MS = 300

let ids = 0
const newId = (): string => `0190a000-0000-7000-8000-${String(++ids).padStart(12, '0')}`
/** Made once of each type: checking the same form 90,000 times would be most of what this test does. */
const templateOf = (type: EventType, data: JsonObject): NewEvent => {
  const meta = { correlationId: 'test', actor: 'test' }
  return newEvent(EVENT_CATALOGUE[type] as EventDefinition, { id: newId(), data, meta })
}
const contract = USDC_ADDRESS.toLowerCase()
const template = {
  claimed: templateOf('PaymentClaimed', {
    paymentId: newId(),
    rail: 'direct',
    protocol: 2,
    chainId: CHAIN_ID,
    contract,
    asset: contract,
    payer: HONEST,
    payTo: PAY_TO,
    value: '20000',
    validAfter: '0',
    validBefore: NOW_S,
    nonce: nonceNumber(1),
    signature: `0x${'00'.repeat(65)}`,
    product: 'get_trade_call',
    requestHash: 'a'.repeat(64),
    answer: '{}',
    accountId: null,
    isServedFirst: true,
  }),
  requested: templateOf('SettlementRequested', { paymentId: newId(), attempt: 1, settler: 'own' }),
  failed: templateOf('SettlementFailed', { paymentId: newId(), attempt: 1, reason: 'insufficient_funds' }),
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
  const stream = paymentStream({ chainId: CHAIN_ID, contract, payer, nonce })
  return { stream, events: isRefused ? [claimed, ...refused] : [claimed] }
}

test('an honest payment among 30,000 of payers without funds is settled within its validity', async () => {
  const time = virtualTime(NOW_S * 1_000)
  const { now, sleep } = time
  const store = openMemoryStore({ now })
  const rows = rowsInMemory<PaymentsRow>()
  const at = new Date(now()).toISOString()
  for (let n = 1; n <= 30_000; n++) {
    const payer = `0x${n.toString(16).padStart(40, 'd')}`
    const { stream, events } = storyOf(payer, n, now(), true)
    await store.append(stream, events, { expected: 'no-stream' })
    for (const event of events) payments.fold(rows, { ...event, stream, at } as unknown as ServiceEvent)
  }
  const keys = [...rows.entries.keys()].toSorted((one, other) => (one < other ? -1 : 1))
  const position = await store.head()

  const fine: Rehearsal = { refusal: undefined, hasCode: false }
  const short: Rehearsal = { refusal: { reason: 'insufficient_funds', detail: '' }, hasCode: false }
  const chain: SettlementChain = {
    payerFacts: () => Promise.reject(new Error('not asked here')),
    rehearse: async ({ payer }) => (payer === HONEST ? fine : short),
    outcomeOf: async () => ({ kind: 'unused' }),
    blockTime: async () => Math.floor(now() / 1_000),
    transactionState: async () => 'missing',
    receiptOf: async () => ({ blockNumber: 1, blockHash: HASH, isPaying: () => true }),
    blockHash: async () => HASH,
    newestBlock: async () => 1,
    finalBlock: async () => 0,
    chainId: async () => CHAIN_ID,
  }
  const never = new AbortController().signal
  const gas = { balance: 10n ** 18n, feePerGas: 1n, tipPerGas: 1n }
  const wallet: Wallet = {
    address: `0x${'99'.repeat(20)}`,
    async accountNonce() {
      await sleep(LOOK_MS, never)
      return 0
    },
    gas: async () => gas,
    sign: async () => ({ hash: HASH, raw: '0x' }),
    signText: async () => ({ hash: HASH, raw: '0x' }),
    send: async () => ({ kind: 'sent' }),
  }
  const ending = new AbortController()
  const settler = createSettler({
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
        hasBeenLive: true,
        hasFormer: false,
        position,
      }),
    },
    chain,
    wallet,
    onPaid: async () => undefined,
    newId,
    now,
    elapsed: now,
    sleep,
    report: () => undefined,
  })
  const running = settler.run(ending.signal)
  await time.goOnUntil(() => settler.health().open === 30_000)
  await time.goOnUntil(() => now() >= NOW_S * 1_000 + 5_000)

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
  await time.goOnUntil(() => state === 'confirmed' || now() - claimedAtMs >= VALID_MS)
  expect(state).toBe('confirmed')
  ending.abort()
  await time.goOnUntil(() => settler.health().open === 0)
  await Promise.all([running, watching])
}, 60_000)
