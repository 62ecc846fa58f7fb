import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { serviceBlockSchema } from '../../../contracts/answers/service-block.ts'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createMemoryLog, type MemoryLog } from '../../../testing/memory-store/memory-store.ts'
import type { Identity } from '../../accounts/index.ts'
import {
  closePayments,
  type PaymentsInMemory,
  paymentsInMemory,
  signedHeader,
  TRANSACTION,
  type WatchedPayments,
  WEEK,
  watch,
} from '../../payments/testing/payments-in-memory.fixture.ts'
import type { ToolCall } from '../tool-call.ts'
import { createPaidCalls, type PaidCalls } from './tools.ts'
import type { PaidCall, PaidOutcome, SentBody } from './types.ts'

const WINDOW = { id: '2026-11', from: 0, to: 1 }
const OF_KEYS: Readonly<Record<string, Identity>> = {
  applied: { outcome: 'OK', accountId: 'a', keyId: 'k', tier: 'starter', window: WINDOW },
  usedUp: { outcome: 'OK', accountId: 'b', keyId: 'k', tier: 'starter', window: WINDOW },
  garbage: { outcome: 'MALFORMED' },
  revoked: { outcome: 'UNKNOWN' },
  later: { outcome: 'INDETERMINATE', reason: 'the index is behind' },
}

let log: MemoryLog
let world: PaymentsInMemory
let watched: WatchedPayments
let clock = 0
let computed: unknown[]
let compute: (request: unknown) => Promise<JsonObject>
let byKey: ToolCall[]
let paid: PaidCalls

beforeEach(() => {
  log = createMemoryLog()
  computed = []
  byKey = []
  compute = async () => ({ call: 'HOLD', serial: computed.length })
  paid = paidCalls()
})
afterEach(closePayments)

/** The paid calls of a process that starts over the log. */
function paidCalls(change: Parameters<typeof paymentsInMemory>[0] = {}): PaidCalls {
  world = paymentsInMemory({ caps: { payer: 50_000_000n, total: 50_000_000n }, ...change }, log)
  watched = watch(world.payments)
  return createPaidCalls({
    calls: {
      async call(call) {
        byKey.push(call)
        if (call.authorization === 'usedUp') {
          throw new ServiceError('quota_exhausted', { details: { resets_at: '2026-12-01T00:00:00.000Z' } })
        }
        return { body: { call: 'BUY' }, isReplay: false }
      },
    },
    payments: watched.payments,
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
}

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
/** Header lines with a payment; the first version of x402 knows no other rail. */
async function paying(nonce: number, change: Parameters<typeof signedHeader>[2] = {}, payer = 1) {
  return change.rail === undefined
    ? ['X-PAYMENT', await signedHeader(payer, nonce, change, 1)]
    : ['PAYMENT-SIGNATURE', await signedHeader(payer, nonce, change)]
}
const pay = async (nonce = 1, change: Partial<PaidCall> = {}, value = 20_000n): Promise<PaidOutcome> =>
  call({ rawHeaders: await paying(nonce, { value }), ...change })
function answerIn(outcome: PaidOutcome): Extract<PaidOutcome, { kind: 'answer' }> {
  if (outcome.kind === 'answer') return outcome
  return expect.fail(`an offer: ${outcome.refusal.message}`)
}
const secretIn = (outcome: PaidOutcome): string =>
  serviceBlockSchema.parse(answerIn(outcome).body['_service']).payment?.secret ?? expect.fail('no secret')
async function pendingOf(work: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown)
  return isServiceError(error, 'payment_pending') ? error : expect.fail(String(error))
}
const withSecret = (rawHeaders: readonly string[], { details }: ServiceError): readonly string[] => [
  ...rawHeaders,
  'Payment-Secret',
  details?.['payment_secret'] as string,
]
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
    expect(quote).toMatchObject({
      x402Version: 1,
      error: 'payment_required',
      accepts: [{ maxAmountRequired: price }],
    })
    expect(computed).toEqual([])
  })

  test('who sent something else as a key has the offer as well, and hears how a key is sent', async () => {
    const outcome = await call({ authorization: 'garbage' })
    expect(offerIn(outcome)).toMatchObject({ code: 'payment_required', quote: { error: 'payment_required' } })
    const { refusal } = outcome as Extract<PaidOutcome, { kind: 'offer' }>
    expect(refusal.message).toMatch(/^This is paid for per call\. .*`Authorization` after the word `Bearer`/)
    const without = (await call()) as typeof outcome & { kind: 'offer' }
    expect(without.refusal.message).not.toContain('Bearer')
  })

  test('indexers have the base price', () => {
    expect(offerIn(paid.tools.offer('get_trade_call')).quote.accepts).toMatchObject([
      { maxAmountRequired: '20000' },
    ])
  })
})

describe('with a key', () => {
  test('that has calls left no payment is used, nor looked at', async () => {
    watched.failures.set('read', new ServiceError('payment_malformed'))
    const outcome = await pay(1, { authorization: 'applied', idempotencyKey: 'once' })
    expect(answerIn(outcome)).toMatchObject({ body: { call: 'BUY' }, receipt: undefined })
    expect(byKey).toMatchObject([{ idempotencyKey: 'once', channel: 'http', request: { coin: 'BTC' } }])
    expect(await world.claims()).toEqual([])
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
    expect(watched.asked).toEqual([])
  })

  test('that is used up there is an offer that says so', async () => {
    const { code, quote, details } = offerIn(await call({ authorization: 'usedUp' }))
    expect([code, quote.error]).toEqual(['payment_required', 'quota_exhausted'])
    expect(details).toEqual({ resets_at: '2026-12-01T00:00:00.000Z' })
  })

  test('that is used up a payment pays, and the key did not apply', async () => {
    const { body } = answerIn(await pay(1, { authorization: 'usedUp' }))
    expect(body).toMatchObject({ _service: { auth: { outcome: 'ABSENT', tier: 'free' }, quota: null } })
    expect(await world.claims()).toHaveLength(1)
  })

  test('any other trouble of the key rail is not turned into an offer', async () => {
    const broken = createPaidCalls({
      payments: world.payments,
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
    const id = expect.stringMatching(/^0190a000/)
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
        status_url: expect.stringMatching(/^https:\/\/signals\.example\.com\/x402\/payments\/0190a000/),
        secret: expect.stringMatching(/^[\w-]{43}$/),
      },
      notice: expect.stringContaining('not advice'),
    })
    expect(await world.claims()).toMatchObject([
      { product: 'get_trade_call', accountId: null, isServedFirst: true },
    ])
    expect((await world.events())[0]?.meta.correlationId).toBe('request-1')
    expect(watched.asked).toEqual([
      'read',
      'find',
      'verify',
      'isTaking',
      'requirePayable',
      'claim',
      'receipt',
      'secretOf',
    ])
  })

  test('there is a receipt once the transaction is known', async () => {
    const secret = secretIn(await pay())
    await world.settleClaimed()
    const rawHeaders = [...(await paying(1)), 'Payment-Secret', secret]
    const { receipt, isReplay, body } = answerIn(await call({ rawHeaders }))
    expect(receipt?.name).toBe('X-PAYMENT-RESPONSE')
    expect(JSON.parse(Buffer.from(receipt?.value ?? '', 'base64').toString())).toMatchObject({
      success: true,
      transaction: TRANSACTION,
    })
    expect(isReplay).toBe(true)
    expect(body).toMatchObject({ serial: 1, _service: { payment: { state: 'confirmed' } } })
  })

  test('over another amount there is an offer with the reason, and nothing is used', async () => {
    const { code, quote } = offerIn(await pay(1, { body: json({ timeframe: '1m' }) }))
    expect([code, quote.error]).toEqual(['payment_refused', 'invalid_exact_evm_payload_authorization_value'])
    expect(quote.accepts).toMatchObject([{ maxAmountRequired: '50000' }])
    expect(await world.claims()).toEqual([])
  })

  test.each(['invalid_content_type', 'invalid_request'] as const)(
    'and a body that is %s nothing is used, and the same payment is good for a better one',
    async (code) => {
      expect(await codeOf(pay(1, { body: unreadable(code) }))).toBe(code)
      expect(watched.asked).toEqual(['read', 'find', 'verify'])
      answerIn(await pay())
    },
  )

  test('that is refused and a body that is, too, the payment is told first', async () => {
    const outcome = await pay(1, { body: unreadable('invalid_content_type') }, 1n)
    expect(offerIn(outcome).code).toBe('payment_refused')
  })

  test.each([
    ['requirePayable', 'payments_unavailable'],
    ['find', 'store_unavailable'],
  ] as const)('nothing is computed where %s refuses', async (question, code) => {
    watched.failures.set(question, new ServiceError(code))
    expect(await codeOf(pay())).toBe(code)
    expect(computed).toEqual([])
  })

  test('a payer who cannot pay is told so before anything is computed', async () => {
    const details = { reason: 'insufficient_funds' }
    watched.failures.set('requirePayable', new ServiceError('payment_refused', { details }))
    const { code, quote } = offerIn(await pay())
    expect([code, quote.error, computed]).toEqual(['payment_refused', 'insufficient_funds', []])
  })

  test('and no settler nothing new is taken, and what was is answered again', async () => {
    await pay(1)
    paid = paidCalls({ taking: [] })
    expect(await codeOf(pay(2))).toBe('payments_unavailable')
    expect(answerIn(await pay(1)).isReplay).toBe(true)
  })

  test('and no address to pay to nothing is taken, and whoever brings none is told why', async () => {
    paid = paidCalls({ payTo: undefined })
    expect(await codeOf(pay())).toBe('payments_unavailable')
    expect(await world.claims()).toEqual([])
    expect((await call()) as unknown).toMatchObject({
      refusal: { message: expect.stringContaining('X402_PAY_TO') },
    })
    expect(await codeOf(call({ authorization: 'usedUp' }))).toBe('quota_exhausted')
  })

  test('a refusal of the tool costs nothing, and the payment is good for another try', async () => {
    compute = () => Promise.reject(new ServiceError('insufficient_history'))
    expect(await codeOf(pay())).toBe('insufficient_history')
    expect(await world.claims()).toEqual([])
    compute = async () => ({ call: 'BUY' })
    expect(answerIn(await pay()).body).toMatchObject({ call: 'BUY' })
  })

  test('an answer that waits for its money says where to look', async () => {
    const rawHeaders = await paying(1, WEEK)
    watched.failures.set('servable', new ServiceError('payment_pending'))
    const error = await pendingOf(call({ rawHeaders }))
    expect(error.details).toMatchObject({
      retry_after_s: expect.any(Number),
      payment_id: expect.any(String),
      payment_secret: expect.any(String),
      status_url: expect.stringContaining('/x402/payments/'),
    })
    watched.failures.clear()
    await world.settleClaimed()
    expect(answerIn(await call({ rawHeaders: withSecret(rawHeaders, error) }))).toMatchObject({
      isReplay: true,
      body: { serial: 1 },
    })
  })

  test('an answer that waits is told who still does', async () => {
    const gone = AbortSignal.abort()
    const rawHeaders = await paying(1, WEEK)
    const error = await pendingOf(call({ rawHeaders, signal: () => gone }))
    await world.settleClaimed()
    expect(await codeOf(call({ rawHeaders }))).toBe('payment_unproven')
    expect(answerIn(await call({ rawHeaders: withSecret(rawHeaders, error) })).isReplay).toBe(true)
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
    const gate = Promise.withResolvers<JsonObject>()
    compute = () => gate.promise
    const same = pay(1)
    await expect.poll(() => computed.length).toBe(1)
    paid = paidCalls()
    const other = codeOf(pay(1, { body: json({ coin: 'ETH' }) }))
    await expect.poll(() => computed.length).toBe(2)
    paid = paidCalls()
    compute = async () => ({ serial: 3 })
    expect(answerIn(await pay(1)).isReplay).toBe(false)
    gate.resolve({ serial: 1 })
    expect(answerIn(await same)).toMatchObject({ isReplay: true, body: { serial: 3 } })
    expect(await other).toBe('payment_mismatch')
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
  /** A request of a payer, from an address, with a payment of its own. */
  const from = async (payer: number, address: number, change = {}): Promise<Partial<PaidCall>> => ({
    rawHeaders: await paying(++nonces, change, payer + 1),
    address: `192.0.2.${address}`,
  })
  let nonces = 10_000

  test.each<[string, number, (n: number) => ReturnType<typeof from>, () => ReturnType<typeof from>]>([
    ['payer', LIMITS.paymentsAtOncePerPayer, (n) => from(1, n), () => from(2, 0)],
    ['address', LIMITS.paymentsAtOncePerAddress, (n) => from(n, 1), () => from(0, 2)],
    ['rail', LIMITS.paymentsAtOnce, (n) => from(n, n % 8), () => from(0, 0, WEEK)],
  ])(
    'are so many of one %s, which is in nobody else’s way, and leave room when they end',
    async (_, most, one, other) => {
      world.settleAll()
      const gate = Promise.withResolvers<JsonObject>()
      compute = () => gate.promise
      const all = (await Promise.all(Array.from({ length: most }, (_each, n) => one(n)))).map(call)
      expect(await errorOf(call(await one(0)))).toMatchObject(waitingFor('payments_unavailable'))
      const another = call(await other())
      gate.resolve({ call: 'HOLD' })
      answerIn(await another)
      await Promise.all(all)
      answerIn(await call(await one(0)))
    },
  )

  test('that wait for their money are in nobody’s way, and past their number are told at once that it is pending', async () => {
    const requests = await Promise.all(
      Array.from({ length: LIMITS.settlementsAwaitedPerPayer }, () => from(1, 1, WEEK)),
    )
    const waiting = requests.map(call)
    const isAsked = () => watched.asked.filter((question) => question === 'servable').length
    await expect.poll(isAsked).toBe(requests.length)
    expect(await errorOf(call(requests[0]))).toMatchObject(waitingFor('payment_pending'))
    answerIn(await call(await from(1, 1)))
    world.settleAll()
    for (const outcome of await Promise.all(waiting)) answerIn(outcome)
  })
})

describe('an address', () => {
  test('whose payments were refused too often is not looked at for a while; what was claimed has its answer', async () => {
    await pay(1)
    for (let n = 0; n < LIMITS.paymentsRefusedPerAddress; n++) offerIn(await pay(2 + n, {}, 1n))
    const looked = watched.asked.filter((question) => question === 'verify').length
    expect(await pay(2).catch((thrown: unknown) => thrown)).toMatchObject({
      code: 'rate_limited',
      details: { retry_after_s: LIMITS.paymentsRefusedMs / 1_000 },
    })
    expect(watched.asked.filter((question) => question === 'verify')).toHaveLength(looked)
    answerIn(await pay(1))
    answerIn(await pay(2, { address: '203.0.113.10' }))
    clock += LIMITS.paymentsRefusedMs
    answerIn(await pay(3))
  })

  test('that pays and is refused in between is not held to what it paid', async () => {
    for (let n = 0; n < LIMITS.paymentsRefusedPerAddress - 1; n++) offerIn(await pay(1_000 + n, {}, 1n))
    for (let n = 1; n <= 5; n++) answerIn(await pay(n))
    expect(await world.claims()).toHaveLength(5)
  })
})

test('the text of an answer is that of its body, the first time and when it is asked for again', async () => {
  const rawHeaders = await paying(7)
  const first = answerIn(await call({ rawHeaders }))
  const again = answerIn(await call({ rawHeaders: [...rawHeaders, 'Payment-Secret', secretIn(first)] }))
  for (const { body, text } of [first, again]) expect(text?.text).toBe(JSON.stringify(body))
  expect(again.isReplay).toBe(true)
})
