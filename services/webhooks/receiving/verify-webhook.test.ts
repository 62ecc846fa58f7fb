import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSign, type DeliveryHeaders } from '../sending/sign.ts'
import { createSecret } from '../subscriptions/subscription-secrets.ts'
import { type Verification, type VerifyWebhookOptions, verifyWebhook } from './verify-webhook.fixture.ts'

const SECRET = createSecret((bytes) => Buffer.alloc(bytes, 1))
const OTHER = createSecret((bytes) => Buffer.alloc(bytes, 2))
const NOW = Date.UTC(2026, 10, 21, 12)
const ID = '0194252b-9200-8f3a-9c55-7d21e0b4a6c3'
const WEBHOOK = {
  event: 'trade_call',
  delivery_id: ID,
  created_at: '2026-11-21T12:00:00.000Z',
  sequence: 7,
  data: { coin: 'BTC', text: 'ü' },
}
const BODY = Buffer.from(JSON.stringify(WEBHOOK))

const sign = createSign({ userAgent: 'signal-service' })
const headersOf = (body: Buffer = BODY, secrets: readonly string[] = [SECRET]): DeliveryHeaders =>
  sign(secrets, { event: 'trade_call', deliveryId: ID, body, at: NOW, sequence: 7, attempt: 1 })

const verify = (change: Partial<VerifyWebhookOptions> = {}): Verification =>
  verifyWebhook({ secret: SECRET, headers: headersOf(), body: BODY, now: NOW, ...change })

const reasonFor = (change: Partial<VerifyWebhookOptions>): string => {
  const verified = verify(change)
  return verified.ok ? 'trusted' : verified.reason
}

describe('a delivery is trusted', () => {
  test('as it was sent, and tells what it says', () => {
    expect(verify()).toEqual({ ok: true, webhook: WEBHOOK })
    expect(verify({ body: BODY.toString() }).ok).toBe(true)
    expect(verify({ body: new Uint8Array(BODY) }).ok).toBe(true)
  })

  test('with header names in lower case, as servers give them', () => {
    const headers = Object.fromEntries(
      Object.entries(headersOf()).map(([name, value]) => [name.toLowerCase(), value]),
    )
    expect(verify({ headers }).ok).toBe(true)
  })

  test('by the old and by the new secret while one replaces the other', () => {
    const headers = headersOf(BODY, [OTHER, SECRET])
    expect(verify({ headers, secret: [SECRET, OTHER] }).ok).toBe(true)
    expect(verify({ headers, secret: OTHER }).ok).toBe(true)
  })

  test('without the headers of Standard Webhooks, which an intermediary may drop', () => {
    const {
      'webhook-id': _id,
      'webhook-timestamp': _time,
      'webhook-signature': _signature,
      ...headers
    } = headersOf()
    expect(verify({ headers }).ok).toBe(true)
  })

  test('within the tolerance of the clock, on both sides', () => {
    for (const now of [NOW - 300_000, NOW + 300_000]) expect(verify({ now }).ok).toBe(true)
  })
})

describe('a delivery is refused', () => {
  test.each<[string, Partial<VerifyWebhookOptions>]>([
    ['301 s away', { now: NOW + 301_000 }],
    ['301 s away', { now: NOW - 301_000 }],
    ['11 s away', { now: NOW + 11_000, toleranceS: 10 }],
    ['X-Service-Signature does not fit', { secret: OTHER }],
    ['X-Service-Signature does not fit', { secret: [] }],
    ['X-Service-Signature does not fit', { headers: { ...headersOf(), 'X-Service-Signature': '' } }],
    ['X-Service-Timestamp is not Unix seconds', { headers: {} }],
    ['X-Service-Timestamp is not Unix seconds', { headers: { 'x-service-timestamp': '1e9' } }],
    ['came more than once', { headers: { ...headersOf(), 'x-service-event': ['trade_call', 'trade_call'] } }],
    ['came more than once', { headers: { ...headersOf(), 'x-service-signature': 'twice, in another case' } }],
    [
      'webhook-timestamp differs',
      { headers: { ...headersOf(), 'webhook-timestamp': String(NOW / 1_000 + 1) } },
    ],
    ['webhook-signature does not fit', { headers: { ...headersOf(), 'webhook-signature': 'v1,AAAA' } }],
    ['X-Service-Event differs', { headers: { ...headersOf(), 'X-Service-Event': 'regime_shift' } }],
    ['X-Service-Delivery differs', { headers: { ...headersOf(), 'X-Service-Delivery': 'another' } }],
    ['X-Service-Sequence differs', { headers: { ...headersOf(), 'X-Service-Sequence': '8' } }],
  ])('%s', (words, change) => {
    expect(reasonFor(change).toLowerCase()).toContain(words.toLowerCase())
  })

  test.each(['', 'not JSON', 'null', '[]', '{"event":1,"delivery_id":"a"}'])(
    'whose body %j is signed and no delivery',
    (text) => {
      const body = Buffer.from(text)
      expect(reasonFor({ body, headers: headersOf(body) })).toContain('is no delivery')
    },
  )
})

test('whatever is changed on the way, in the body or in a header that is checked, is noticed', () => {
  const checked = Object.keys(headersOf()).filter((name) => /^(x-service-(?!attempt)|webhook-)/i.test(name))
  expect(checked).toHaveLength(8)
  const place = fc.nat()
  const flip = fc.integer({ min: 1, max: 127 })
  fc.assert(
    fc.property(fc.constantFrom('body', ...checked), place, flip, (where, at, bits) => {
      if (where === 'body') {
        const body = Buffer.from(BODY)
        const index = at % body.length
        body[index] = (body[index] ?? 0) ^ bits
        expect(verify({ body }).ok).toBe(false)
        return
      }
      const value = Buffer.from(headersOf()[where] ?? '')
      const index = at % value.length
      value[index] = (value[index] ?? 0) ^ bits
      expect(verify({ headers: { ...headersOf(), [where]: value.toString('latin1') } }).ok).toBe(false)
    }),
    { numRuns: 1_000 },
  )
})

test('whatever is received is answered with a verdict, never with an exception', () => {
  const headers = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom(...Object.keys(headersOf()))),
    fc.oneof(fc.string(), fc.array(fc.string()), fc.constant(undefined)),
  )
  fc.assert(
    fc.property(headers, fc.uint8Array(), (given, body) => {
      expect(verify({ headers: { ...given, 'X-Service-Timestamp': String(NOW / 1_000) }, body }).ok).toBe(
        false,
      )
    }),
  )
})
