import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ERRORS, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createServer } from '../../composition/server.ts'
import { JUST_CLAIMED } from '../../payments/payment.ts'
import type { PaidCall, PaidCalls, PaidOutcome, PaidRequest } from '../../tool-calls/index.ts'
import { createRateLimits } from '../rate-limits.ts'
import { NO_PAYMENTS } from '../testing/no-payments.ts'
import { type RawAnswer, sendBytes } from '../testing/send-bytes.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

const ID = '019abcde-7c00-7001-8000-00000000000a'
const ROUTES = [
  '/x402/get_trade_call',
  '/x402/get_trade_signal',
  '/x402/get_market_regime',
  '/x402/scan_trade_calls',
  '/x402/scan_funding_arb',
  '/x402/plans/starter',
  '/x402/plans/pro',
]

let app: FastifyInstance
let port: number
let asked: (PaidRequest | PaidCall)[]
/** The path's answer to a request; it reads the body as the real one does. */
let outcome: (request: PaidRequest) => Promise<PaidOutcome>

const offered = (code: 'payment_required' | 'payment_refused' = 'payment_required'): PaidOutcome => ({
  kind: 'offer',
  offer: { members: '"x402Version":1,"error":"why","accepts":[]', header: 'b2ZmZXI=' },
  refusal: new ServiceError(code, { message: 'as told', details: { reason: 'why' } }),
})
const receipt = { name: 'X-PAYMENT-RESPONSE', value: 'cmVjZWlwdA==' }
const isPaid = ({ rawHeaders }: PaidRequest): boolean => rawHeaders.includes('X-PAYMENT')

beforeEach(async () => {
  asked = []
  outcome = async (request) => {
    if (!isPaid(request)) return offered()
    return { kind: 'answer', body: { got: request.body.require() as never }, isReplay: false, receipt }
  }
  const handle = async (request: PaidRequest | PaidCall): Promise<PaidOutcome> => {
    asked.push(request)
    return outcome(request)
  }
  const paid: PaidCalls = {
    tools: { call: handle, offer: () => offered() },
    plans: { buy: (_, request) => handle(request), offer: () => offered() },
  }
  const absent = (): never => expect.fail('not asked for here')
  app = await createServer(
    serverOptions({
      operatorToken: 'operator-token',
      payments: {
        paid,
        async showPayment(id) {
          if (id !== ID) throw new ServiceError('not_found')
          return PAYMENT
        },
        paymentAdmin: {
          list: absent,
          listOwn: absent,
          show: absent,
          refund: absent,
        },
      },
    }),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterEach(() => app.close())

const PAYMENT = {
  ...JUST_CLAIMED,
  paymentId: ID,
  stream: 'payment-x',
  state: 'confirmed',
  rail: 'direct',
  product: 'get_trade_call',
  payer: `0x${'11'.repeat(20)}`,
  value: '20000',
  accountId: null,
  isServedFirst: true,
  validBeforeS: Date.UTC(2026, 10, 21) / 1_000,
  claimedAtMs: Date.UTC(2026, 10, 21),
  changedAtMs: Date.UTC(2026, 10, 21),
  attempts: 1,
  transaction: `0x${'ab'.repeat(32)}`,
  blockNumber: 7,
  blockHash: `0x${'cd'.repeat(32)}`,
} as const

/** Sends a request as it is written here, on a connection of its own. */
const raw = (lines: readonly string[], body = '', path = '/x402/get_trade_call'): Promise<RawAnswer> => {
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  const head = [`POST ${path} HTTP/1.1`, 'Host: x', length, ...lines, '', body].join('\r\n')
  return sendBytes(Buffer.from(head), { port, isAbandoned: false, timeoutMs: 5_000 })
}
const readBody = ({ body }: RawAnswer) => JSON.parse(body) as Record<string, unknown>

test('sells a trade call under its other name too', async () => {
  await app.inject({ method: 'POST', url: '/x402/get_trade_signal', payload: { coin: 'BTC' } })
  expect(asked).toMatchObject([{ tool: 'get_trade_call' }])
})

describe.each(ROUTES)('%s', (path) => {
  test('offers to POST, GET and HEAD without a payment, in both versions', async () => {
    for (const method of ['POST', 'GET', 'HEAD'] as const) {
      const { statusCode, headers, body } = await app.inject({ method, url: path })
      expect([method, statusCode]).toEqual([method, 402])
      expect(headers).toMatchObject({
        'payment-required': 'b2ZmZXI=',
        'cache-control': 'no-store',
        'content-type': 'application/json; charset=utf-8',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': expect.stringMatching(
          /PAYMENT-REQUIRED.*PAYMENT-RESPONSE.*X-PAYMENT-RESPONSE/,
        ),
      })
      if (method === 'HEAD') continue
      expect(JSON.parse(body)).toEqual({
        x402Version: 1,
        error: 'why',
        accepts: [],
        code: 'payment_required',
        message: 'as told',
        next_step: ERRORS.payment_required.nextStep,
        details: { reason: 'why' },
        request_id: 'request',
      })
    }
  })

  test('lets pages of any origin pay', async () => {
    const { statusCode, headers } = await app.inject({
      method: 'OPTIONS',
      url: path,
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    })
    expect(statusCode).toBe(204)
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': expect.stringMatching(
        /Authorization, Content-Type, .*PAYMENT-SIGNATURE, X-PAYMENT/,
      ),
    })
  })

  test('has no neighbours that lead to it', async () => {
    for (const url of [`${path}x`, path.toUpperCase(), path.replace('/x402/', '/x402//'), `/x402${path}`]) {
      expect((await app.inject({ method: 'POST', url })).statusCode, url).toBe(404)
    }
    expect((await app.inject({ method: 'DELETE', url: path })).statusCode).toBe(405)
  })
})

/** Lines of a request and the type of media that its body has, as what a paid caller is told. */
const TYPES: readonly (readonly [name: string, lines: readonly string[], body: string])[] = [
  ['two lines', ['Content-Type: application/json', 'content-type: application/json'], '{}'],
  ['two lines that differ', ['Content-Type: application/json', 'CONTENT-TYPE: text/plain'], '{}'],
  ['a merged line', ['Content-Type: application/json, application/json'], '{}'],
  [
    'a merged line with parameters',
    ['Content-Type: application/json; charset=utf-8, application/json'],
    '{}',
  ],
  ['two types as one with a parameter', ['Content-Type: application/json; application/json'], '{}'],
  ['a parameter without a value', ['Content-Type: application/json; charset=utf-8; json'], '{}'],
  ['text as text/plain', ['Content-Type: text/plain;charset=UTF-8'], '{"coin":"BTC"}'],
  ['a form', ['Content-Type: application/x-www-form-urlencoded'], 'coin=BTC'],
  ['another JSON', ['Content-Type: application/problem+json'], '{}'],
  ['no type', [], '{"coin":"BTC"}'],
  ['an empty type', ['Content-Type:'], '{}'],
  ['what is no type', ['Content-Type: ;;,'], '{}'],
]

describe('Content-Type', () => {
  test.each(TYPES)('%s: an offer without a payment, for what can be read', async (_, lines, body) => {
    expect((await raw(lines, body)).status).toBe(402)
    const [{ body: sent } = expect.fail('nothing was asked')] = asked
    expect(sent.lenient).toEqual(body.startsWith('{') ? JSON.parse(body) : undefined)
  })

  test.each(TYPES)('%s: refused with a payment', async (_, lines, body) => {
    const answer = await raw(['X-PAYMENT: x', ...lines], body)
    expect([answer.status, readBody(answer).code]).toEqual([400, 'invalid_content_type'])
  })

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="utf-8"',
    'application/json ; charset=utf-8 ;',
  ])('%s is JSON', async (type) => {
    const answer = await raw(['X-PAYMENT: x', `Content-Type: ${type}`], '{"coin":"BTC"}')
    expect([answer.status, readBody(answer)]).toEqual([200, { got: { coin: 'BTC' } }])
  })

  test('is told as it was sent, a bounded part of it', async () => {
    const answer = await raw(['X-PAYMENT: x', `Content-Type: text/${'x'.repeat(2_000)}`], '{}')
    expect(answer.body.length).toBeLessThan(1_000)
    expect(readBody(answer).message).toContain('text/xxx')
  })
})

describe('a body', () => {
  test.each(['', '{', 'null ]', '\u0000'])('%j: an offer, and with a payment refused', async (body) => {
    const type = 'Content-Type: application/json'
    expect((await raw([type], body)).status).toBe(402)
    const answer = await raw(['X-PAYMENT: x', type], body)
    expect([answer.status, readBody(answer).code]).toEqual([400, 'invalid_request'])
  })

  test('may come in chunks', async () => {
    const head = ['POST /x402/get_trade_call HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked']
    const lines = [...head, 'X-PAYMENT: x', 'Content-Type: application/json', '', '2', '{}', '0', '', '']
    const options = { port, isAbandoned: false, timeoutMs: 5_000 }
    expect((await sendBytes(Buffer.from(lines.join('\r\n')), options)).status).toBe(200)
  })

  test('that is too large is refused before anybody is asked', async () => {
    const answer = await raw(['X-PAYMENT: x'], 'x'.repeat(LIMITS.requestBodyBytes + 1))
    expect([answer.status, readBody(answer).code, asked]).toEqual([413, 'payload_too_large', []])
  })

  test('elsewhere is judged as before', async () => {
    const headers = { 'content-type': 'text/x', authorization: 'Bearer operator-token' }
    const options = { method: 'POST', url: '/operator/tools/x', payload: 'x', headers } as const
    expect((await app.inject(options)).json()).toMatchObject({ code: 'unsupported_media_type' })
  })
})

describe('an answer', () => {
  test('carries its receipt, and says whether it was given before', async () => {
    const answer = await raw(['X-PAYMENT: x', 'Content-Type: application/json'], '{}')
    expect(answer.headers.get('x-payment-response')).toBe(receipt.value)
    expect(answer.headers.has('idempotency-replayed')).toBe(false)
    outcome = async () => ({ kind: 'answer', body: {}, isReplay: true, receipt: undefined })
    const again = await raw(['X-PAYMENT: x'])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.headers.has('x-payment-response')).toBe(false)
  })

  test('knows whose it is and what came with it', async () => {
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    await raw([`traceparent: ${trace}`, 'authorization: Bearer k', 'idempotency-key: once'], '{}')
    expect(asked).toMatchObject([
      {
        tool: 'get_trade_call',
        address: '127.0.0.1',
        traceparent: trace,
        authorization: 'Bearer k',
        idempotencyKey: 'once',
        requestId: 'request',
      },
    ])
    await raw(['traceparent: nonsense'], '{}')
    expect(asked[1]?.traceparent).toBeUndefined()
  })

  test('that waits for a settlement says when to ask again', async () => {
    const details = { retry_after_s: 1.2, status_url: 'https://x.example/x402/payments/1' }
    outcome = () => Promise.reject(new ServiceError('payment_pending', { details }))
    const answer = await raw(['X-PAYMENT: x'], '{}')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
    expect(readBody(answer)).toMatchObject({ code: 'payment_pending', details })
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  })

  test('is not waited for by who hangs up', async () => {
    const waiting = Promise.withResolvers<AbortSignal>()
    outcome = async ({ signal }) => {
      waiting.resolve(signal())
      return new Promise<never>(() => undefined)
    }
    const gone = new AbortController()
    const url = `http://127.0.0.1:${port}/x402/get_trade_call`
    const lost = fetch(url, { method: 'POST', signal: gone.signal }).catch((error: unknown) => error)
    const signal = await waiting.promise
    const aborted = once(signal, 'abort')
    gone.abort()
    await aborted
    expect(await lost).toBeInstanceOf(DOMException)
  })

  test('is not waited for by a process that ends', async () => {
    const waiting = Promise.withResolvers<void>()
    outcome = async ({ signal }) => {
      const told = once(signal(), 'abort')
      waiting.resolve()
      await told
      throw new ServiceError('payment_pending')
    }
    const answer = raw(['X-PAYMENT: x'], '{}')
    await waiting.promise
    await app.close()
    expect((await answer).status).toBe(503)
  })
})

test('who asks too often is told so in a way that a page can read', async () => {
  const rateLimits = createRateLimits({ perAddress: 1, perKey: undefined })
  const limited = await createServer(serverOptions({ rateLimits, payments: NO_PAYMENTS }))
  for (const url of [`/x402/payments/${ID}`, ...ROUTES]) {
    await limited.inject(url)
    const { statusCode, headers } = await limited.inject(url)
    expect([url, statusCode, headers['access-control-allow-origin']]).toEqual([url, 429, '*'])
    expect(headers).toHaveProperty('retry-after')
  }
  await limited.close()
})

describe('GET /x402/payments/:id', () => {
  test('tells what became of a payment, and nothing that could be used', async () => {
    const response = await app.inject(`/x402/payments/${ID.toUpperCase()}`)
    expect(response.headers).toMatchObject({
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
    })
    expect(response.json()).toEqual({
      id: ID,
      state: 'confirmed',
      rail: 'direct',
      product: 'get_trade_call',
      payer: PAYMENT.payer,
      amount_usdc: '0.02',
      refunded_usdc: '0.00',
      is_served_first: true,
      transaction: PAYMENT.transaction,
      block: 7,
      reason: null,
      claimed_at: '2026-11-21T00:00:00.000Z',
      changed_at: '2026-11-21T00:00:00.000Z',
      valid_until: '2026-11-21T00:00:00.000Z',
      next_step: expect.stringContaining('it is paid'),
    })
  })

  test.each([
    [ID.replace('a', 'b'), 404, 'not_found'],
    ['starter', 400, 'invalid_request'],
  ])('%s: %s', async (id, status, code) => {
    const response = await app.inject(`/x402/payments/${id}`)
    expect([response.statusCode, response.json().code]).toEqual([status, code])
  })
})
