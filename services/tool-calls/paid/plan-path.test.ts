import { afterEach, beforeEach, expect, test } from 'vitest'
import { serviceBlockSchema } from '../../../contracts/answers/service-block.ts'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Identity } from '../../accounts/index.ts'
import {
  closePayments,
  type PaymentsInMemory,
  paymentsInMemory,
  signedHeader,
  type WatchedPayments,
  watch,
} from '../../payments/testing/payments-in-memory.fixture.ts'
import { createPaidCalls, type PaidCalls } from './tools.ts'
import type { PaidOutcome, PaidRequest, SentBody } from './types.ts'

const [ADA, BOB] = ['5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55', '6f0c2d7e-91ab-8c34-a6d2-07e4b8139c55']
const WINDOW = { id: '2026-11', from: 0, to: 1 }
const keyOf = (accountId: string): Identity => ({
  outcome: 'OK',
  accountId,
  keyId: 'k',
  tier: 'free',
  window: WINDOW,
})
const OF_KEYS: Readonly<Record<string, Identity>> = {
  ada: keyOf(ADA),
  bob: keyOf(BOB),
  garbage: { outcome: 'MALFORMED' },
  revoked: { outcome: 'UNKNOWN' },
  later: { outcome: 'INDETERMINATE', reason: 'the index is behind' },
}
const HEADERS = ['X-PAYMENT', await signedHeader(1, 1, { value: 9_990_000n }, 1)]

let world: PaymentsInMemory
let watched: WatchedPayments
let started: unknown[]
let isFull: boolean
let isErased: boolean
let paid: PaidCalls

afterEach(closePayments)
beforeEach(() => {
  world = paymentsInMemory()
  world.settleAll()
  watched = watch(world.payments)
  started = []
  isFull = false
  isErased = false
  paid = createPaidCalls({
    calls: { call: () => Promise.reject(new Error('no tools here')) },
    payments: watched.payments,
    identify: async (authorization) => OF_KEYS[authorization ?? ''] ?? { outcome: 'ABSENT' },
    answer: () => Promise.reject(new Error('no tools here')),
    plans: {
      async requireRoom() {
        if (isFull) throw new ServiceError('invalid_request', { message: '12 plans have not ended' })
      },
      async started(bought) {
        if (isErased) throw new ServiceError('account_unknown')
        started.push(bought)
        return { tier: bought.tier, from: Date.UTC(2026, 10, 21), to: Date.UTC(2026, 11, 21) }
      },
    },
    market: 'simulated',
    version: '1.2.3',
    publicUrl: () => 'https://signals.example.com',
  })
})

const bodyOf = (value: unknown): SentBody => ({ lenient: value, isEmpty: false, require: () => value })
const EMPTY: SentBody = {
  lenient: undefined,
  isEmpty: true,
  require() {
    throw new ServiceError('invalid_content_type')
  },
}
const buy = (change: Partial<PaidRequest> = {}): Promise<PaidOutcome> =>
  paid.plans.buy('starter', {
    body: EMPTY,
    rawHeaders: HEADERS,
    authorization: 'ada',
    address: '192.0.2.1',
    requestId: 'request-1',
    signal: () => new AbortController().signal,
    ...change,
  })
test('a plan is settled first, begins for the account of the key, and says when', async () => {
  const outcome = await buy()
  if (outcome.kind === 'offer') expect.fail(outcome.refusal.message)
  const { _service, ...plan } = outcome.body
  expect(plan).toEqual({
    plan: 'starter',
    days: 30,
    account_id: ADA,
    from: '2026-11-21T00:00:00.000Z',
    to: '2026-12-21T00:00:00.000Z',
  })
  expect(serviceBlockSchema.parse(_service)).toMatchObject({
    tool: 'plans/starter',
    auth: { outcome: 'OK', tier: 'starter' },
    quota: null,
    payment: { state: 'confirmed', amount_usdc: '9.99' },
  })
  expect(await world.claims()).toMatchObject([
    { product: 'plans/starter', accountId: ADA, isServedFirst: false },
  ])
  const { paymentId, claimedAtMs } =
    (await world.payments.show((started[0] as { paymentId: string }).paymentId)) ?? {}
  expect(started).toEqual([
    { accountId: ADA, tier: 'starter', paymentId, claimedAtMs, requestId: 'request-1' },
  ])
  expect(outcome.receipt).toBeDefined()
})

test.each([
  [undefined, 'unauthorized'],
  ['garbage', 'unauthorized'],
  ['revoked', 'key_unknown'],
  ['later', 'key_unverifiable'],
])('the key %j is refused as %s, and no payment is looked at', async (authorization, code) => {
  expect(await codeOf(buy({ authorization }))).toBe(code)
  expect(watched.asked).toEqual([])
})

test('without a payment there is an offer', async () => {
  const outcome = await buy({ rawHeaders: [] })
  expect(outcome).toMatchObject({ kind: 'offer', refusal: { code: 'payment_required' } })
  if (outcome.kind === 'offer') expect(outcome.offer.members).toContain('"maxAmountRequired":"9990000"')
})

test('indexers have an offer without a key', () => {
  const outcome = paid.plans.offer('pro')
  if (outcome.kind === 'answer') expect.fail('an answer')
  expect(outcome.offer.members).toContain('"maxAmountRequired":"49000000"')
})

test('an account without room is told before it signs, and before anything is taken', async () => {
  isFull = true
  expect(await codeOf(buy({ rawHeaders: [] }))).toBe('invalid_request')
  expect(await codeOf(buy())).toBe('invalid_request')
  expect(await world.claims()).toEqual([])
})

test('a plan that was paid for is answered again, also where room has run out since', async () => {
  await buy()
  isFull = true
  expect(await buy()).toMatchObject({ kind: 'answer', isReplay: true, body: { plan: 'starter' } })
  expect(await world.claims()).toHaveLength(1)
})

test('a plan that is not settled yet has not begun', async () => {
  watched.failures.set('servable', new ServiceError('payment_pending'))
  expect(await codeOf(buy())).toBe('payment_pending')
  expect(started).toEqual([])
  watched.failures.clear()
  expect(await buy()).toMatchObject({ kind: 'answer', isReplay: true })
})

test('nobody begins a plan with the payment of another account', async () => {
  await buy()
  expect(await codeOf(buy({ authorization: 'bob' }))).toBe('payment_unproven')
  // Nor by the buyer's own proof: it is bought for one account.
  const again = await buy()
  const { payment } = serviceBlockSchema.parse(again.kind === 'answer' ? again.body['_service'] : undefined)
  const rawHeaders = [...HEADERS, 'Payment-Secret', payment?.secret ?? '']
  expect(await codeOf(buy({ rawHeaders, authorization: 'bob' }))).toBe('payment_mismatch')
  expect(new Set(started.map((plan) => (plan as { accountId: string }).accountId)).size).toBe(1)
})

test('a body may be {}, and nothing else: what it says would not be done', async () => {
  expect(await codeOf(buy({ body: bodyOf({ months: 12 }) }))).toBe('invalid_request')
  expect(await codeOf(buy({ body: bodyOf([]) }))).toBe('invalid_request')
  expect(await world.claims()).toEqual([])
  expect(await buy({ body: bodyOf({}) })).toMatchObject({ kind: 'answer' })
})

test('the price of one tier does not buy the other', async () => {
  const request = { body: EMPTY, rawHeaders: HEADERS }
  const outcome = await paid.plans.buy('pro', {
    ...request,
    authorization: 'ada',
    address: '192.0.2.1',
    requestId: 'r',
    signal: () => new AbortController().signal,
  })
  expect(outcome).toMatchObject({ kind: 'offer', refusal: { code: 'payment_refused' } })
})

test('who has paid for an account that was erased meanwhile is told which payment is owed back', async () => {
  isErased = true
  const failure: unknown = await buy().catch((error: unknown) => error)
  if (!isServiceError(failure, 'account_unknown')) throw new Error(String(failure))
  const paymentId = failure.details?.payment_id as string
  expect(failure.message).toContain(paymentId)
  expect(failure.details?.status_url).toBe(`https://signals.example.com/x402/payments/${paymentId}`)
})
