import { expect, test } from 'vitest'
import type { SettlementChain } from '../chain/chain.ts'
import type { LoadedPayment } from '../loaded-payment.ts'
import { JUST_CLAIMED, type Payment } from '../state/payment-state.ts'
import { createFinalityWatch } from './finality-watch.ts'
import { createPaymentQueue, type PaymentQueue } from './payment-queue.ts'
import type { SettlementLog } from './settlement-log.ts'
import { SETTLEMENT_TIMING } from './settlement-timing.ts'

const NOON = Date.UTC(2026, 10, 23, 12)
const { restMs } = SETTLEMENT_TIMING

const aPayment = (change: Partial<Payment>): Payment =>
  ({
    ...JUST_CLAIMED,
    stream: 'payment-1',
    rail: 'direct',
    accountId: null,
    isServedFirst: true,
    claimedAtMs: NOON,
    ...change,
  }) as Payment

const aQueue = (now: number, elapsed: () => number, load: SettlementLog['load'] = async () => undefined) =>
  createPaymentQueue({
    log: { load } as SettlementLog,
    timing: SETTLEMENT_TIMING,
    now: () => now,
    elapsed,
    sleep: async () => undefined,
    onPaid: async () => undefined,
    hasChain: true,
    report: () => undefined,
  })

/** When a payment that becomes known at a time is looked at first, milliseconds after that. */
function firstLook(payment: Payment, now = NOON): number | undefined {
  let elapsed = 0
  const queue = aQueue(now, () => elapsed)
  queue.track(payment)
  for (; elapsed <= 2 * restMs; elapsed += restMs / 4)
    if (queue.take('direct', 1).length + queue.take('finality', 1).length > 0) return elapsed
  return undefined
}

test.each<[string, number, Partial<Payment>, number]>([
  ['one that was answered just now rests, so that its client can ask again', NOON, {}, restMs],
  ['one that was answered a moment ago rests for what is left', NOON + restMs / 2, {}, restMs / 2],
  ['one that was answered long ago does not', NOON + 10 * restMs, {}, 0],
  ['nor does one by a clock that was set back rest for longer', NOON - 10 * restMs, {}, restMs],
  ['one whose answer waits for its money does not', NOON, { isServedFirst: false }, 0],
  ['one that was handed over does not', NOON, { state: 'broadcast' }, 0],
  ['one that is settled does not', NOON, { state: 'confirmed' }, 0],
])('%s', (_, now, change, expected) => {
  expect(firstLook(aPayment(change), now)).toBe(expected)
})

/** Claims by payer and number, as they come; those in lower case were served first, and their rest is over. */
const comes = (names: string): Payment[] =>
  names.split(' ').map((stream) => {
    const payer = (stream[0] ?? '').toLowerCase()
    const isServedFirst = payer === stream[0]
    return aPayment({ stream, payer, isServedFirst, claimedAtMs: NOON - restMs })
  })

test.each([
  ['one of each payer in front, the rest behind', 'A1 A2 A3 B1 B2 C1', 1, 'A1 B1 C1 A2 A3 B2'],
  ['also before those of its own payer', 'a1 A2 A3', 1, 'A2 a1 A3'],
  ['one that is waited for before those that are answered', 'a1 b1 c1 D1', 1, 'D1 a1 b1 c1'],
  ['but not before one that was due for longer than a request waits', 'a1 B1', 20_001, 'a1 B1'],
])('payers take turns: %s', (_, names, apartMs, expected) => {
  let elapsed = 0
  const queue = aQueue(NOON, () => elapsed)
  for (const payment of comes(names)) {
    queue.track(payment)
    elapsed += apartMs
  }
  const taken: string[] = []
  for (let some = queue.take('direct', 1); some.length > 0; some = queue.take('direct', 1))
    taken.push(...some)
  expect(taken.join(' ')).toBe(expected)
})

test.each([
  ['money that came puts the next one of its payer in front', 'confirmed', ['A2', 'B2']],
  ['a refusal does not', 'uncollectable', ['B2', 'A2']],
] as const)('%s', async (_, state, expected) => {
  const payments = comes('B1 B2 A1 A2')
  const load = async (stream: string) => ({
    stream,
    payment: { ...payments.find((one) => one.stream === stream), state },
  })
  const queue = aQueue(NOON, () => 0, load as unknown as SettlementLog['load'])
  for (const payment of payments) queue.track(payment)
  expect(queue.take('direct', 2)).toEqual(['B1', 'A1'])
  await queue.load('A1', 'direct', new AbortController().signal)
  expect([...queue.take('direct', 1), ...queue.take('direct', 1)]).toEqual(expected)
})

test('a payment in a block that was final before anybody looked is final at the first look', async () => {
  const [hash, blockNumber] = [`0x${'b'.repeat(64)}`, 100] as const
  const payment = aPayment({ state: 'confirmed', blockNumber, blockHash: hash, transaction: hash })
  const happened: string[] = []
  const note = (what: string) => () => void happened.push(what)
  const queue: Partial<PaymentQueue> = {
    load: async () => ({ stream: payment.stream, payment }) as LoadedPayment,
    notifyPaid: async () => true,
    async record(loaded, facts) {
      happened.push(...facts.map(({ type }) => type))
      return loaded
    },
    after: note('looked at later'),
    again: note('looked at again'),
  }
  const chain: Partial<SettlementChain> = {
    newestBlock: async () => blockNumber + 100_000,
    finalBlock: async () => blockNumber + 99_000,
    blockHash: async (number) => (number === blockNumber ? hash : undefined),
  }
  const watch = createFinalityWatch({
    chain: chain as SettlementChain,
    queue: queue as PaymentQueue,
    timing: SETTLEMENT_TIMING,
  })
  await watch.work([payment.stream], new AbortController().signal)
  expect(happened).toEqual(['SettlementFinalised'])
})
