import type { Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { BASE } from '../../contracts/domain/chain.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import {
  anAuthorization,
  encoded,
  nonceNumber,
  payerNumber,
  paymentV1,
  paymentV2,
  signAuthorization,
} from '../payments/testing/sign-payment.ts'
import {
  AUTHORIZATION_TYPES,
  type Authorization,
  signingDomain,
} from '../payments/verification/recover-signer.ts'
import { PAY_TO, type PaidService, startPaidService } from './testing/paid-service.fixture.ts'
import { sendBytes } from './testing/send-bytes.ts'

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const PAYER = payerNumber(7)
const NOW_S = Math.floor(Date.now() / 1_000)

let service: PaidService
let answer: () => Promise<JsonObject>
let nonce = 0

beforeAll(async () => {
  service = await startPaidService({
    answer: async () => answer(),
    caps: { payer: 1_000_000_000n, total: 1_000_000_000n },
  })
})
afterAll(() => service.stop())
beforeEach(() => {
  answer = async () => ({ call: 'HOLD', serial: service.computed.length })
})

const authorize = (change: Partial<Omit<Authorization, 'payer'>> = {}): Authorization =>
  anAuthorization(PAYER, {
    payTo: PAY_TO,
    validBefore: BigInt(NOW_S + 300),
    nonce: nonceNumber(++nonce),
    ...change,
  })
const BODY = '{"coin":"BTC"}'
const JSON_TYPE = { 'content-type': 'application/json' }

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}
async function post(
  payment: string | undefined,
  {
    body = BODY,
    headers = JSON_TYPE,
    tool = 'get_trade_call',
  }: { body?: string; headers?: Record<string, string>; tool?: string } = {},
): Promise<Answer> {
  const response = await fetch(`${service.url}/x402/${tool}`, {
    method: 'POST',
    headers: { ...headers, ...(payment !== undefined && { 'x-payment': payment }) },
    body,
  })
  const parsed = (await response.json()) as Record<string, unknown>
  return { status: response.status, headers: response.headers, body: parsed }
}
const payV1 = async (authorization: Authorization, signature?: Hex): Promise<string> =>
  encoded(paymentV1(authorization, signature ?? (await signAuthorization(PAYER, authorization))))

const paymentIn = ({ _service: said }: Record<string, unknown>): string =>
  (said as { payment: { id: string } }).payment.id

async function claims(): Promise<number> {
  let count = 0
  for await (const recorded of service.store.readAll({ filter: { types: ['PaymentClaimed'] } })) {
    if (decodeEvent(recorded).type === 'PaymentClaimed') count += 1
  }
  return count
}
/** Nothing is computed or claimed by what happens meanwhile. */
async function expectNothingUsed(work: () => Promise<void>): Promise<void> {
  const before = [service.computed.length, await claims()]
  await work()
  expect([service.computed.length, await claims()]).toEqual(before)
}

const withS = (signature: Hex, change: (s: bigint, v: number) => readonly [bigint, number]): Hex => {
  const [s, v] = change(BigInt(`0x${signature.slice(66, 130)}`), Number(`0x${signature.slice(130)}`))
  const tail = `${s.toString(16).padStart(64, '0')}${v.toString(16).padStart(2, '0')}`
  return `${signature.slice(0, 66)}${tail}` as Hex
}
const resigned =
  (change: (s: bigint, v: number) => readonly [bigint, number]) =>
  async (authorization: Authorization): Promise<object> =>
    paymentV1(authorization, withS(await signAuthorization(PAYER, authorization), change))

const SIGNATURE = 'invalid_exact_evm_payload_signature'
type Make = (authorization: Authorization) => Promise<object>
type Bad = readonly [what: string, reason: string, change: Partial<Omit<Authorization, 'payer'>>, make: Make]

const signed: Make = async (authorization) =>
  paymentV1(authorization, await signAuthorization(PAYER, authorization))

const BAD: readonly Bad[] = [
  ['too little', 'invalid_exact_evm_payload_authorization_value', { value: 19_999n }, signed],
  ['too much', 'invalid_exact_evm_payload_authorization_value', { value: 20_001n }, signed],
  [
    'to somebody else',
    'invalid_exact_evm_payload_recipient_mismatch',
    { payTo: `0x${'33'.repeat(20)}` },
    signed,
  ],
  [
    'expired',
    'invalid_exact_evm_payload_authorization_valid_before',
    { validBefore: BigInt(NOW_S - 1) },
    signed,
  ],
  [
    'too late to settle',
    'invalid_exact_evm_payload_authorization_valid_before',
    { validBefore: BigInt(NOW_S + 30) },
    signed,
  ],
  ['for ever', 'invalid_exact_evm_payload_authorization_valid_before', { validBefore: 2n ** 255n }, signed],
  [
    'not valid yet',
    'invalid_exact_evm_payload_authorization_valid_after',
    { validAfter: BigInt(NOW_S + 200) },
    signed,
  ],
  ['high s', SIGNATURE, {}, resigned((s, v) => [CURVE_ORDER - s, v === 27 ? 28 : 27])],
  ['s of nothing', SIGNATURE, {}, resigned((_, v) => [0n, v])],
  ['another v', SIGNATURE, {}, resigned((s, v) => [s, v === 27 ? 28 : 27])],
  [
    'under another name of the token',
    SIGNATURE,
    {},
    async (authorization) => {
      const signature = await PAYER.signTypedData({
        domain: { ...signingDomain('direct', BASE), name: 'USDC' },
        types: AUTHORIZATION_TYPES,
        primaryType: 'TransferWithAuthorization',
        message: { ...authorization, from: authorization.payer, to: authorization.payTo },
      })
      return paymentV1(authorization, signature)
    },
  ],
  [
    'of another chain',
    'invalid_network',
    {},
    async (authorization) => ({ ...paymentV1(authorization, '0x00'), network: 'base-sepolia' }),
  ],
  [
    'another asset',
    'invalid_payment_requirements',
    {},
    async (authorization) => {
      const payment = paymentV2(authorization, await signAuthorization(PAYER, authorization))
      return { ...payment, accepted: { ...payment.accepted, asset: `0x${'44'.repeat(20)}` } }
    },
  ],
  [
    'another scheme',
    'unsupported_scheme',
    {},
    async (authorization) => ({ ...paymentV1(authorization, '0x00'), scheme: 'upto' }),
  ],
  [
    'another version',
    'invalid_x402_version',
    {},
    async (authorization) => ({ ...paymentV1(authorization, '0x00'), x402Version: 3 }),
  ],
]

describe('a payment that cannot be money', () => {
  test.each(BAD)('%s: %s, with a new offer in both versions', async (_, reason, change, make) => {
    await expectNothingUsed(async () => {
      const authorization = authorize(change)
      const { status, headers, body } = await post(encoded(await make(authorization)))
      expect([status, body.code, body.error]).toEqual([402, 'payment_refused', reason])
      expect(body).toMatchObject({
        x402Version: 1,
        details: { reason },
        accepts: [{ maxAmountRequired: '20000' }],
      })
      const offer = JSON.parse(
        Buffer.from(headers.get('payment-required') ?? '', 'base64').toString(),
      ) as object
      expect(offer).toMatchObject({ x402Version: 2, error: reason, accepts: [{ amount: '20000' }, {}] })
    })
  })

  test('the price of one tool does not buy a dearer one', async () => {
    await expectNothingUsed(async () => {
      const { status, body } = await post(await payV1(authorize()), { body: '{"timeframe":"1m"}' })
      expect([status, body.accepts]).toMatchObject([402, [{ maxAmountRequired: '50000' }]])
    })
  })

  test.each(['', '%%%', 'bm90aGluZw==', encoded(['x']), '{"x402Version":1'])(
    'a header %j is malformed, and no offer',
    async (header) => {
      const { status, body } = await post(header)
      expect([status, body.code]).toEqual([400, 'payment_malformed'])
    },
  )

  test('two payments are none', async () => {
    const [payment, other] = [await payV1(authorize()), await payV1(authorize())]
    const head = `POST /x402/get_trade_call HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-PAYMENT: ${payment}\r\n`
    const bytes = Buffer.from(`${head}PAYMENT-SIGNATURE: ${other}\r\n\r\n`)
    const answered = await sendBytes(bytes, { port: service.port, isAbandoned: false, timeoutMs: 5_000 })
    expect([answered.status, JSON.parse(answered.body)]).toMatchObject([400, { code: 'payment_malformed' }])
  })
})

describe('an authorization', () => {
  test.each([1, 2] as const)('of version %d is good after every refusal of the request', async (version) => {
    const authorization = authorize()
    const signature = await signAuthorization(PAYER, authorization)
    const payment = encoded((version === 1 ? paymentV1 : paymentV2)(authorization, signature))
    await expectNothingUsed(async () => {
      const merged = await post(payment, {
        headers: { 'content-type': 'application/json, application/json' },
      })
      const plain = await post(payment, { headers: { 'content-type': 'text/plain' } })
      expect([merged, plain].map(({ status, body }) => [status, body.code])).toEqual([
        [400, 'invalid_content_type'],
        [400, 'invalid_content_type'],
      ])
      const lines = [
        `X-PAYMENT: ${payment}`,
        'Content-Type: application/json',
        'Content-Type: application/json',
      ]
      const head = [
        'POST /x402/get_trade_call HTTP/1.1',
        'Host: x',
        `Content-Length: ${BODY.length}`,
        ...lines,
      ]
      const twice = await sendBytes(Buffer.from([...head, '', BODY].join('\r\n')), {
        port: service.port,
        isAbandoned: false,
        timeoutMs: 5_000,
      })
      expect([twice.status, JSON.parse(twice.body)]).toMatchObject([400, { code: 'invalid_content_type' }])
      expect((await post(payment, { body: '{' })).body.code).toBe('invalid_request')
    })
    const before = await claims()
    answer = () => Promise.reject(new ServiceError('stale_market_data'))
    expect((await post(payment)).body.code).toBe('stale_market_data')
    expect(await claims()).toBe(before)
    answer = async () => ({ call: 'SELL' })
    const paid = await post(payment)
    expect([paid.status, paid.body.call]).toEqual([200, 'SELL'])
  })

  test('presented a hundred times at once is computed and claimed once, and answered alike', async () => {
    const payment = await payV1(authorize())
    const before = [service.computed.length, await claims()] as const
    const gate = Promise.withResolvers<JsonObject>()
    answer = () => gate.promise
    const same = Array.from({ length: 100 }, () => post(payment))
    await vi.waitUntil(() => service.computed.length > before[0])
    const other = post(payment, { body: '{"coin":"ETH"}' })
    gate.resolve({ call: 'SELL' })
    expect((await other).body.code).toBe('payment_mismatch')
    const answers = await Promise.all(same)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const texts = answers.map(({ body: { _service, ...rest } }) => JSON.stringify(rest))
    expect(new Set(texts).size).toBe(1)
    const ids = answers.map(({ body }) => paymentIn(body))
    expect(new Set(ids).size).toBe(1)
    expect([service.computed.length, await claims()]).toEqual([before[0] + 1, before[1] + 1])
    expect(answers.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1)
  })

  test('has its answer in whichever header and version it comes, and no other request has', async () => {
    const authorization = authorize()
    const signature = await signAuthorization(PAYER, authorization)
    const first = await post(encoded(paymentV1(authorization, signature)))
    const again = await post(undefined, {
      headers: { ...JSON_TYPE, 'payment-signature': JSON.stringify(paymentV2(authorization, signature)) },
    })
    expect([first.status, again.status, again.body.serial]).toEqual([200, 200, first.body.serial])
    const other = await post(encoded(paymentV1(authorization, signature)), { body: '{"coin":"ETH"}' })
    const elsewhere = await post(encoded(paymentV1(authorization, signature)), { tool: 'get_market_regime' })
    for (const { status, body } of [other, elsewhere])
      expect([status, body.code]).toEqual([409, 'payment_mismatch'])
  })
})
