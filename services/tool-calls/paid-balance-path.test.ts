import { afterEach, beforeEach, expect, test } from 'vitest'
import { codeOf } from '../../contracts/code-of.fixture.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { createMemoryLog, type MemoryLog, openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import {
  closePayments,
  type PaymentsInMemory,
  paymentsInMemory,
  signedHeader,
} from '../payments/testing/payments-in-memory.fixture.ts'
import { NOW_S } from '../payments/testing/sign-payment.ts'
import type { PaidOutcome, PaidRequest, SentBody } from './paid-call.ts'
import { createPaidCalls, type PaidCalls } from './paid-calls.ts'

const USDC = 1_000_000n
const CALL = 20_000n

let log: MemoryLog
let isAway: (stream: string) => boolean
let one: Process
let other: Process

interface Process {
  readonly world: PaymentsInMemory
  readonly paid: PaidCalls
}

/** A process over the log of the test, whose store refuses what a test says. */
function start(): Process {
  const store = openMemoryStore({ now: () => NOW_S * 1_000, log })
  const append: EventStore['append'] = (stream, events, options) =>
    isAway(stream) ? Promise.reject(new ServiceError('store_full')) : store.append(stream, events, options)
  const refusing = new Proxy(store, {
    get: (target, name: keyof EventStore) => (name === 'append' ? append : target[name]),
  })
  const world = paymentsInMemory({ store: refusing }, log)
  const paid = createPaidCalls({
    calls: { call: () => Promise.reject(new Error('no keys here')) },
    payments: world.payments,
    identify: async () => ({ outcome: 'ABSENT' }),
    answer: async () => ({ call: 'HOLD' }),
    plans: { requireRoom: async () => undefined, started: () => Promise.reject(new Error('no plans here')) },
    market: 'simulated',
    version: '1.2.3',
    publicUrl: () => 'https://signals.example.com',
  })
  return { world, paid }
}

beforeEach(() => {
  log = createMemoryLog()
  isAway = () => false
  one = start()
  other = start()
})
afterEach(closePayments)

const EMPTY: SentBody = { lenient: undefined, isEmpty: true, require: () => undefined }
const COIN = { coin: 'BTC' }
const asked = async (nonce: number, value: bigint, more: readonly string[] = []): Promise<PaidRequest> => ({
  body: EMPTY,
  rawHeaders: ['PAYMENT-SIGNATURE', await signedHeader(1, nonce, { value }), ...more],
  authorization: undefined,
  address: '192.0.2.1',
  requestId: `request-${nonce}`,
  signal: () => new AbortController().signal,
})

async function payIn(nonce: number, by = one, more: readonly string[] = []): Promise<PaidOutcome> {
  const buying = by.paid.balances.buy('1', await asked(nonce, USDC, more))
  const settling = (async () => {
    while ((await by.world.claims()).every(({ product }) => product !== 'balance/1')) await Promise.resolve()
    const events = await by.world.events()
    const claims = events.filter(
      ({ type, data }) => type === 'PaymentClaimed' && data['product'] === 'balance/1',
    )
    for (const { stream, data } of claims) {
      const isSettled = events.some(
        (event) => event.stream === stream && event.type === 'SettlementConfirmed',
      )
      if (!isSettled) await by.world.confirm({ stream, paymentId: data['paymentId'] as string })
    }
  })()
  const [outcome] = await Promise.all([buying, settling])
  return outcome
}

async function call(nonce: number, by = one): Promise<string> {
  await by.world.index.catchUp()
  const body: SentBody = { lenient: COIN, isEmpty: false, require: () => COIN }
  const request = { ...(await asked(nonce, CALL)), body, tool: 'get_trade_call', idempotencyKey: undefined }
  const outcome = await by.paid.tools.call(request)
  if (outcome.kind === 'offer') return expect.fail(outcome.refusal.message)
  return (outcome.body['_service'] as { payment: { state: string } }).payment.state
}

const bodyOf = (outcome: PaidOutcome) =>
  outcome.kind === 'offer' ? expect.fail(outcome.refusal.message) : outcome.body
const secretOf = (outcome: PaidOutcome): readonly string[] => {
  const { payment } = bodyOf(outcome)['_service'] as { payment: { secret: string } }
  return ['Payment-Secret', payment.secret]
}
const given = async () => (await one.world.events()).filter(({ type }) => type === 'CreditGiven')

test('what is paid in once is drawn by call after call, and nothing but it is settled', async () => {
  expect(bodyOf(await payIn(1))).toMatchObject({
    paid_in_usdc: '1.00',
    balance_usdc: '1.00',
    _service: { tool: 'balance/1', payment: { state: 'confirmed', amount_usdc: '1.00' } },
  })
  const states = []
  for (let nonce = 2; nonce < 53; nonce++) states.push(await call(nonce))
  expect(states.filter((state) => state === 'credited')).toHaveLength(50)
  expect(states.at(-1)).toBe('owed')
  expect(bodyOf(await payIn(60))).toMatchObject({ balance_usdc: '1.00' })
})

test('the same payment pays in once, whoever sends it again, and for its payer alone', async () => {
  const first = await payIn(1)
  expect(await codeOf(other.paid.balances.buy('1', await asked(1, USDC)))).toBe('payment_unproven')
  const again = await payIn(1, other, secretOf(first))
  expect(bodyOf(again)).toMatchObject({ balance_usdc: '1.00' })
  expect(again).toMatchObject({ isReplay: true })
  expect(await given()).toHaveLength(1)
})

test('two processes that draw on one balance at a time never draw more than there is', async () => {
  await payIn(1)
  const nonces = Array.from({ length: 60 }, (_, n) => n + 2)
  const states = await Promise.all(nonces.map((nonce) => call(nonce, nonce % 2 === 0 ? one : other)))
  expect(states.filter((state) => state === 'credited')).toHaveLength(50)
  const used = (await one.world.events()).filter(({ type }) => type === 'CreditUsed')
  expect(used.at(-1)?.data['balance']).toBe('0')
})

test('a process that dies between settlement and balance loses nothing: the same payment pays in afterwards', async () => {
  isAway = (stream) => stream.startsWith('credit-')
  expect(await codeOf(payIn(1))).toBe('store_full')
  expect(await given()).toEqual([])
  isAway = () => false
  const claim = (await one.world.events()).find(({ type }) => type === 'PaymentClaimed')
  const payment = await one.world.payments.show(claim?.data['paymentId'] as string)
  const secret = ['Payment-Secret', one.world.payments.secretOf(payment)]
  expect(bodyOf(await payIn(1, other, secret))).toMatchObject({ balance_usdc: '1.00' })
  expect(await given()).toHaveLength(1)
  expect(await call(2, other)).toBe('credited')
})

test('what was given back is not paid in', async () => {
  isAway = (stream) => stream.startsWith('credit-')
  await codeOf(payIn(1))
  isAway = () => false
  const claim = (await one.world.events()).find(({ type }) => type === 'PaymentClaimed')
  const { paymentId, stream } = await one.world.payments.show(claim?.data['paymentId'] as string)
  const finality = { transaction: `0x${'7a'.repeat(32)}`, blockNumber: 7 }
  await one.world.settle({ paymentId, stream }, 'SettlementFinalised', finality)
  const refund = { transaction: `0x${'8b'.repeat(32)}`, value: '1000000', reason: 'by hand' }
  await one.world.settle({ paymentId, stream }, 'RefundSent', refund)
  const payment = await one.world.payments.show(paymentId)
  const secret = ['Payment-Secret', one.world.payments.secretOf(payment)]
  expect(await codeOf(payIn(1, other, secret))).toBe('payment_refunded')
  expect(await given()).toEqual([])
})

test('without a payment there is an offer, and a request that says something is refused before it is charged', async () => {
  const request = await asked(1, USDC)
  const offer = await one.paid.balances.buy('5', { ...request, rawHeaders: [] })
  expect(offer).toMatchObject({ kind: 'offer', refusal: { code: 'payment_required' } })
  if (offer.kind === 'offer') expect(offer.offer.members).toContain('"maxAmountRequired":"5000000"')
  expect(one.paid.balances.offer('20')).toMatchObject({ kind: 'offer' })
  const body: SentBody = { lenient: COIN, isEmpty: false, require: () => COIN }
  const refused = one.paid.balances.buy('1', { ...request, body })
  await expect(refused).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('a balance is bought without a body'),
  })
  expect(await one.world.claims()).toEqual([])
})
