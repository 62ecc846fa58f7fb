import { beforeEach, describe, expect, test } from 'vitest'
import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { serviceBlockSchema } from '../../contracts/service-block.ts'
import type { Identity } from '../accounts/index.ts'
import type { PaidCall, PaidOutcome, SentBody } from './paid-call.ts'
import { createPaidCalls, type PaidCalls } from './paid-calls.ts'
import { type FakePayments, fakePayments, paymentHeaders } from './testing/fake-payments.fixture.ts'
import type { ToolCall } from './tool-call.ts'

const WINDOW = { id: '2026-11', from: 0, to: 1 }
const OF_KEYS: Readonly<Record<string, Identity>> = {
  applied: { outcome: 'OK', accountId: 'a', keyId: 'k', tier: 'starter', window: WINDOW },
  usedUp: { outcome: 'OK', accountId: 'b', keyId: 'k', tier: 'starter', window: WINDOW },
  garbage: { outcome: 'MALFORMED' },
  revoked: { outcome: 'UNKNOWN' },
  later: { outcome: 'INDETERMINATE', reason: 'the index is behind' },
}

let payments: FakePayments
let clock = 0
let computed: unknown[]
let compute: (request: unknown) => Promise<JsonObject>
let byKey: ToolCall[]
let paid: PaidCalls

beforeEach(() => {
  payments = fakePayments()
  computed = []
  byKey = []
  compute = async () => ({ call: 'HOLD', serial: computed.length })
  paid = paidCalls()
})

const paidCalls = (): PaidCalls =>
  createPaidCalls({
    calls: {
      async call(call) {
        byKey.push(call)
        if (call.authorization === 'usedUp') {
          throw new ServiceError('quota_exhausted', { details: { resets_at: '2026-12-01T00:00:00.000Z' } })
        }
        return { body: { call: 'BUY' }, isReplay: false }
      },
    },
    payments,
    identify: async (authorization) => OF_KEYS[authorization ?? ''] ?? { outcome: 'ABSENT' },
    answer(_tool, request) {
      computed.push(request)
      return compute(request)
    },
    plans: { requireRoom: async () => undefined, started: () => Promise.reject(new Error('no plans here')) },
    market: 'simulated',
    version: '1.2.3',
    clock: () => clock,
    publicUrl: () => 'https://signals.example.com',
  })

const json = (value: unknown): SentBody => ({ lenient: value, isEmpty: false, require: () => value })
const unreadable = (code: 'invalid_content_type' | 'invalid_request', lenient?: unknown): SentBody => ({
  lenient,
  isEmpty: false,
  require() {
    throw new ServiceError(code)
  },
})

const aCall = (change: Partial<PaidCall> = {}): PaidCall => ({
  tool: 'get_trade_call',
  body: json({ coin: 'BTC' }),
  rawHeaders: [],
  authorization: undefined,
  address: '203.0.113.9',
  idempotencyKey: undefined,
  requestId: 'request-1',
  signal: () => new AbortController().signal,
  ...change,
})
const call = (change: Partial<PaidCall> = {}): Promise<PaidOutcome> => paid.tools.call(aCall(change))
const pay = (nonce = 1, change: Partial<PaidCall> = {}, value = 20_000): Promise<PaidOutcome> =>
  call({ rawHeaders: paymentHeaders({ nonce, value }), ...change })
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (isServiceError(error) ? error.code : String(error)),
  )
function answerIn(outcome: PaidOutcome): Extract<PaidOutcome, { kind: 'answer' }> {
  if (outcome.kind === 'answer') return outcome
  return expect.fail(`an offer: ${outcome.refusal.message}`)
}
function offerIn(outcome: PaidOutcome): { code: string; quote: JsonObject; details: unknown } {
  if (outcome.kind === 'answer') return expect.fail('an answer')
  const { code, details } = outcome.refusal
  return { code, details, quote: JSON.parse(`{${outcome.offer.members}}`) as JsonObject }
}

describe('without a payment', () => {
  test.each([
    [{ coin: 'BTC' }, '20000'],
    [{ coin: 'BTC', timeframe: '1m' }, '50000'],
    [{ timeframe: '3m' }, '40000'],
    [undefined, '20000'],
    ['text', '20000'],
  ])('the offer is for the request: %j costs %s', async (lenient, price) => {
    const { code, quote } = offerIn(await call({ body: unreadable('invalid_content_type', lenient) }))
    expect(code).toBe('payment_required')
    expect(quote).toEqual({
      x402Version: 1,
      error: 'payment_required',
      accepts: [{ maxAmountRequired: price }],
    })
    expect(computed).toEqual([])
  })

  test('an offer is made once for all who are told the same', async () => {
    for (let turn = 0; turn < 3; turn++) {
      await call()
      await call({ body: json({ timeframe: '1m' }) })
      await pay(turn, {}, 1)
    }
    expect(payments.asked.filter((name) => name === 'quote')).toHaveLength(3)
  })

  test('and what was sent as a key and is none, too', async () => {
    expect(offerIn(await call({ authorization: 'garbage' })).code).toBe('payment_required')
  })

  test('indexers have the base price', () => {
    expect(offerIn(paid.tools.offer('get_trade_call')).quote.accepts).toEqual([
      { maxAmountRequired: '20000' },
    ])
  })
})

describe('with a key', () => {
  test('that has calls left no payment is used, nor looked at', async () => {
    payments.failures.set('read', new ServiceError('payment_malformed'))
    const outcome = await pay(1, { authorization: 'applied', idempotencyKey: 'once' })
    expect(answerIn(outcome)).toMatchObject({ body: { call: 'BUY' }, receipt: undefined })
    expect(byKey).toMatchObject([{ idempotencyKey: 'once', channel: 'http', request: { coin: 'BTC' } }])
    expect(payments.claims).toEqual([])
  })

  test.each(['invalid_content_type', 'invalid_request'] as const)(
    'a body that is refused as %s costs no call',
    async (code) => {
      expect(await codeOf(call({ authorization: 'applied', body: unreadable(code) }))).toBe(code)
      expect(byKey).toEqual([])
    },
  )

  test.each([
    ['revoked', 'key_unknown'],
    ['later', 'key_unverifiable'],
  ])('that is %s nobody is served, whatever else comes along', async (authorization, code) => {
    expect(await codeOf(pay(1, { authorization }))).toBe(code)
    expect(payments.asked).toEqual([])
  })

  test('that is used up there is an offer that says so', async () => {
    const { code, quote, details } = offerIn(await call({ authorization: 'usedUp' }))
    expect([code, quote.error]).toEqual(['payment_required', 'quota_exhausted'])
    expect(details).toEqual({ resets_at: '2026-12-01T00:00:00.000Z' })
  })

  test('that is used up a payment pays, and the key did not apply', async () => {
    const { body } = answerIn(await pay(1, { authorization: 'usedUp' }))
    expect(body).toMatchObject({ _service: { auth: { outcome: 'ABSENT', tier: 'free' }, quota: null } })
    expect(payments.claims).toHaveLength(1)
  })

  test('any other trouble of the key rail is not turned into an offer', async () => {
    const broken = createPaidCalls({
      payments,
      market: 'simulated',
      version: '1',
      publicUrl: () => 'https://x.example',
      calls: { call: () => Promise.reject(new ServiceError('store_unavailable')) },
      identify: async () => OF_KEYS.applied ?? { outcome: 'ABSENT' },
      answer: compute,
      plans: { requireRoom: async () => undefined, started: () => Promise.reject(new Error()) },
    })
    expect(await codeOf(broken.tools.call(aCall({ authorization: 'applied' })))).toBe('store_unavailable')
  })
})

describe('with a payment', () => {
  test('the answer says what was paid, and where to look', async () => {
    const { body, isReplay, receipt } = answerIn(await pay())
    const { _service, ...answer } = body
    expect(answer).toEqual({ call: 'HOLD', serial: 1 })
    expect([isReplay, receipt]).toEqual([false, undefined])
    const id = expect.stringMatching(/^019abcde/)
    expect(serviceBlockSchema.parse(_service)).toEqual({
      version: '1.2.3',
      tool: 'get_trade_call',
      request_id: 'request-1',
      market: 'simulated',
      auth: { outcome: 'ABSENT', tier: 'free' },
      quota: null,
      payment: {
        id,
        state: 'owed',
        amount_usdc: '0.02',
        transaction: null,
        status_url: expect.stringMatching(/^https:\/\/signals\.example\.com\/x402\/payments\/019abcde/),
      },
      notice: expect.stringContaining('not advice'),
    })
    expect(payments.claims).toMatchObject([
      { product: 'get_trade_call', accountId: null, mustSettleFirst: false, requestId: 'request-1' },
    ])
    expect(payments.asked).toEqual(['read', 'find', 'verify', 'requirePayable', 'claim', 'give'])
  })

  test('there is a receipt once the transaction is known', async () => {
    await pay()
    payments.isSettled = true
    const { receipt, isReplay, body } = answerIn(await pay())
    expect(receipt).toEqual({ name: 'X-PAYMENT-RESPONSE', value: `0x${'ab'.repeat(32)}` })
    expect(isReplay).toBe(true)
    expect(body).toMatchObject({ serial: 1, _service: { payment: { state: 'confirmed' } } })
  })

  test('over another amount there is an offer with the reason, and nothing is used', async () => {
    const { code, quote } = offerIn(await pay(1, { body: json({ timeframe: '1m' }) }))
    expect([code, quote.error]).toEqual(['payment_refused', 'invalid_exact_evm_payload_authorization_value'])
    expect(quote.accepts).toEqual([{ maxAmountRequired: '50000' }])
    expect(payments.claims).toEqual([])
  })

  test.each(['invalid_content_type', 'invalid_request'] as const)(
    'and a body that is %s nothing is used, and the same payment is good for a better one',
    async (code) => {
      expect(await codeOf(pay(1, { body: unreadable(code) }))).toBe(code)
      expect(payments.asked).toEqual(['read', 'find', 'verify'])
      answerIn(await pay())
    },
  )

  test('that is refused and a body that is, too, the payment is told first', async () => {
    const outcome = await pay(1, { body: unreadable('invalid_content_type') }, 1)
    expect(offerIn(outcome).code).toBe('payment_refused')
  })

  test.each([
    ['requirePayable', 'payments_unavailable'],
    ['find', 'store_unavailable'],
  ] as const)('nothing is computed where %s refuses', async (question, code) => {
    payments.failures.set(question, new ServiceError(code))
    expect(await codeOf(pay())).toBe(code)
    expect(computed).toEqual([])
  })

  test('a payer who cannot pay is told so before anything is computed', async () => {
    const details = { reason: 'insufficient_funds' }
    payments.failures.set('requirePayable', new ServiceError('payment_refused', { details }))
    const { code, quote } = offerIn(await pay())
    expect([code, quote.error, computed]).toEqual(['payment_refused', 'insufficient_funds', []])
  })

  test('and no settler nothing new is taken, and what was is answered again', async () => {
    await pay(1)
    payments.taking = false
    expect(await codeOf(pay(2))).toBe('payments_unavailable')
    expect(answerIn(await pay(1)).isReplay).toBe(true)
  })

  test('and no address to pay to nothing is taken, and whoever brings none is told why', async () => {
    payments = fakePayments({ isOffering: false })
    payments.failures.set('verify', new ServiceError('payments_unavailable'))
    paid = paidCalls()
    expect(await codeOf(pay())).toBe('payments_unavailable')
    expect(payments.claims).toEqual([])
    expect((await call()) as unknown).toMatchObject({
      refusal: { message: expect.stringContaining('X402_PAY_TO') },
    })
    expect(await codeOf(call({ authorization: 'usedUp' }))).toBe('quota_exhausted')
  })

  test('a refusal of the tool costs nothing, and the payment is good for another try', async () => {
    compute = () => Promise.reject(new ServiceError('insufficient_history'))
    expect(await codeOf(pay())).toBe('insufficient_history')
    expect(payments.claims).toEqual([])
    compute = async () => ({ call: 'BUY' })
    expect(answerIn(await pay()).body).toMatchObject({ call: 'BUY' })
  })

  test('an answer that waits for its money says where to look', async () => {
    const rawHeaders = paymentHeaders({ nonce: 1, value: 20_000, rail: 'gateway' })
    payments.failures.set('servable', new ServiceError('payment_pending'))
    const error = await call({ rawHeaders }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'payment_pending',
      details: {
        retry_after_s: expect.any(Number),
        payment_id: expect.any(String),
        status_url: expect.stringContaining('/x402/payments/'),
      },
    })
    payments.failures.clear()
    expect(answerIn(await call({ rawHeaders }))).toMatchObject({ isReplay: true, body: { serial: 1 } })
  })

  test('an answer that waits is told who still does', async () => {
    const gone = AbortSignal.abort()
    const rawHeaders = paymentHeaders({ nonce: 1, value: 20_000, rail: 'gateway' })
    expect(await codeOf(call({ rawHeaders, signal: () => gone }))).toBe('payment_pending')
    expect(answerIn(await call({ rawHeaders })).isReplay).toBe(true)
  })
})

describe('one authorization', () => {
  test('has one answer, byte for byte, whoever answers and whatever its fields’ order', async () => {
    compute = async () => ({ probability: 0.1 + 0.2, price: 1e21, nested: [null, -0.5] })
    const first = answerIn(await pay(1, { body: json({ coin: 'BTC', timeframe: '1h' }) }))
    paid = paidCalls()
    const again = answerIn(await pay(1, { body: json({ timeframe: '1h', coin: 'BTC' }), requestId: 'r2' }))
    const [{ _service: one, ...before }, { _service: two, ...after }] = [first.body, again.body]
    expect(JSON.stringify(after)).toBe(JSON.stringify(before))
    expect([one, two]).toMatchObject([{ request_id: 'request-1' }, { request_id: 'r2' }])
    expect(computed).toHaveLength(1)
  })

  test('that another process claimed meanwhile has the answer of that process', async () => {
    await pay(1)
    paid = paidCalls()
    payments.hideClaims = true
    expect(answerIn(await pay(1))).toMatchObject({ isReplay: true, body: { serial: 1 } })
    expect(await codeOf(pay(1, { body: json({ coin: 'ETH' }) }))).toBe('payment_mismatch')
  })

  test('of a failed computation is free for all who waited for it', async () => {
    const gate = Promise.withResolvers<JsonObject>()
    compute = () => gate.promise
    const waiting = [pay(1), pay(1)].map(codeOf)
    gate.reject(new ServiceError('engine_unavailable'))
    expect(await Promise.all(waiting)).toEqual(['engine_unavailable', 'engine_unavailable'])
    compute = async () => ({ call: 'BUY' })
    expect(answerIn(await pay(1)).isReplay).toBe(false)
  })
})

describe('payments under way', () => {
  const waitingFor = (code: string) => ({ code, details: { retry_after_s: expect.any(Number) } })
  const errorOf = (work: Promise<unknown>): Promise<unknown> => work.catch((thrown: unknown) => thrown)
  /** Of a payer, from an address, each numbered on its own. */
  const payOf = (payer: number, address: number, rail: 'direct' | 'gateway' = 'direct') =>
    call({
      rawHeaders: paymentHeaders({ nonce: ++nonces, value: 20_000, payer, rail }),
      address: `192.0.2.${address}`,
    })
  let nonces = 10_000

  test.each<[string, number, (n: number) => Promise<PaidOutcome>, () => Promise<PaidOutcome>]>([
    ['payer', LIMITS.paymentsAtOncePerPayer, (n) => payOf(1, n), () => payOf(2, 0)],
    ['address', LIMITS.paymentsAtOncePerAddress, (n) => payOf(n, 1), () => payOf(0, 2)],
    ['rail', LIMITS.paymentsAtOnce, (n) => payOf(n, n % 8), () => payOf(0, 0, 'gateway')],
  ])(
    'are so many of one %s, which is in nobody else’s way, and leave room when they end',
    async (_, most, one, other) => {
      payments.isSettled = true
      const gate = Promise.withResolvers<JsonObject>()
      compute = () => gate.promise
      const all = Array.from({ length: most }, (_each, n) => one(n))
      expect(await errorOf(one(0))).toMatchObject(waitingFor('payments_unavailable'))
      const another = other()
      gate.resolve({ call: 'HOLD' })
      answerIn(await another)
      await Promise.all(all)
      answerIn(await one(0))
    },
  )

  test('that wait for their money are in nobody’s way, and past their number are told at once that it is pending', async () => {
    const settled = Promise.withResolvers<void>()
    payments.whenSettled = () => settled.promise
    const waiting = Array.from({ length: LIMITS.settlementsAwaitedPerPayer }, () => payOf(1, 1, 'gateway'))
    while (payments.waiting < waiting.length) await Promise.resolve()
    expect(await errorOf(payOf(1, 2, 'gateway'))).toMatchObject(waitingFor('payment_pending'))
    answerIn(await payOf(1, 1))
    payments.isSettled = true
    settled.resolve()
    for (const outcome of await Promise.all(waiting)) answerIn(outcome)
  })
})

describe('an address', () => {
  test('whose payments were refused too often is not looked at for a while; what was claimed has its answer', async () => {
    await pay(1)
    for (let n = 0; n < LIMITS.paymentsRefusedPerAddress; n++) offerIn(await pay(2 + n, {}, 1))
    const looked = payments.asked.filter((question) => question === 'verify').length
    expect(await pay(2).catch((thrown: unknown) => thrown)).toMatchObject({
      code: 'rate_limited',
      details: { retry_after_s: LIMITS.paymentsRefusedMs / 1_000 },
    })
    expect(payments.asked.filter((question) => question === 'verify')).toHaveLength(looked)
    answerIn(await pay(1))
    answerIn(await pay(2, { address: '203.0.113.10' }))
    clock += LIMITS.paymentsRefusedMs
    answerIn(await pay(3))
  })

  test('that pays and is refused in between is not held to what it paid', async () => {
    for (let n = 0; n < LIMITS.paymentsRefusedPerAddress - 1; n++) offerIn(await pay(1_000 + n, {}, 1))
    for (let n = 1; n <= 5; n++) answerIn(await pay(n))
    expect(payments.claims).toHaveLength(5)
  })
})
