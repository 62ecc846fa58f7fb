import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { createSecret } from '../subscriptions/subscription-secrets.ts'
import { createSign, type SignedDelivery } from './sign.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='
const OLDER = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs='
const AT = Date.UTC(2026, 10, 21, 12, 0, 0, 999)
const DELIVERY: SignedDelivery = {
  event: 'trade_call',
  deliveryId: '0194252b-9200-8f3a-9c55-7d21e0b4a6c3',
  body: Buffer.from('{"event":"trade_call","x":"ü"}'),
  at: AT,
  sequence: 7,
  attempt: 1,
}

const sign = createSign({ userAgent: 'signal-service/1.2.3' })

describe('a secret', () => {
  test('is whsec_ and base64 of 32 bytes of the randomness given', () => {
    const secret = createSecret((bytes) => Buffer.alloc(bytes, 0xab))
    expect(secret).toBe(`whsec_${Buffer.alloc(32, 0xab).toString('base64')}`)
    expect(createSecret(randomBytes)).not.toBe(createSecret(randomBytes))
  })
})

describe('the headers of a delivery', () => {
  test('are these, with a known signature of each kind', () => {
    expect(sign([SECRET], DELIVERY)).toEqual({
      'content-type': 'application/json',
      'user-agent': 'signal-service/1.2.3',
      'X-Service-Event': 'trade_call',
      'X-Service-Delivery': '0194252b-9200-8f3a-9c55-7d21e0b4a6c3',
      'X-Service-Timestamp': '1795262400',
      'X-Service-Signature': '9ce03ae456da69a874ddaa75a0de5013a6f981603fbb6a2cfba5f5fef87d9e02',
      'X-Service-Attempt': '1',
      'X-Service-Sequence': '7',
      'webhook-id': '0194252b-9200-8f3a-9c55-7d21e0b4a6c3',
      'webhook-timestamp': '1795262400',
      'webhook-signature': 'v1,dCzPN5QWvlxqq2qRda2/lizO6QGEokXcZ3tmimTbbuk=',
    })
  })

  test('say which try it is, and carry the trace', () => {
    const headers = sign([SECRET], {
      ...DELIVERY,
      attempt: 3,
      traceparent: '00-1',
    })
    expect(headers).toMatchObject({
      'X-Service-Attempt': '3',
      traceparent: '00-1',
    })
  })

  test('have no sequence where the delivery has none, and no marks that are not so', () => {
    const headers = sign([SECRET], {
      ...DELIVERY,
      sequence: undefined,
      traceparent: undefined,
    })
    expect(Object.keys(headers)).not.toContain('X-Service-Sequence')
    expect(Object.keys(headers)).not.toContain('traceparent')
  })

  test('of the interface: hex HMAC over time and body, keyed with the text of the secret that receivers have', () => {
    const hexOf = (secret: string) =>
      createHmac('sha256', secret).update('1795262400.').update(DELIVERY.body).digest('hex')
    expect(sign([SECRET], DELIVERY)['X-Service-Signature']).toBe(hexOf(SECRET))
    const headers = sign([SECRET, OLDER], DELIVERY)
    expect(headers['X-Service-Signature']).toBe(hexOf(OLDER))
    expect(headers['X-Service-Signature-Next']).toBe(hexOf(SECRET))
    // Rotated again before the overlap ended: whichever of them a receiver has, it finds its own.
    const third = createSecret(randomBytes)
    const twice = sign([third, SECRET, OLDER], DELIVERY)
    expect(twice['X-Service-Signature']).toBe(hexOf(OLDER))
    expect(twice['X-Service-Signature-Next']).toBe(`${hexOf(third)}, ${hexOf(SECRET)}`)
  })

  test('while a secret is rotated hold a signature of each, newest first', () => {
    const both = sign([SECRET, OLDER], DELIVERY)['webhook-signature']?.split(' ')
    expect(both).toEqual([
      sign([SECRET], DELIVERY)['webhook-signature'],
      sign([OLDER], DELIVERY)['webhook-signature'],
    ])
    expect(new Set(both).size).toBe(2)
  })

  test('are never made without a secret', () => {
    expect(() => sign([], DELIVERY)).toThrow('a delivery is signed')
  })
})

test('the library of Standard Webhooks verifies every delivery, with each secret that signs', () => {
  const secret = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => createSecret(() => bytes))
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 3 }),
      fc.object(),
      fc.uuid(),
      (secrets, data, id) => {
        const body = Buffer.from(JSON.stringify(data))
        const headers = sign(secrets, { ...DELIVERY, body, deliveryId: id, at: Date.now() })
        for (const one of secrets) {
          expect(new Webhook(one).verify(body, { ...headers })).toEqual(JSON.parse(body.toString()))
        }
        const other = new Webhook(createSecret(randomBytes))
        expect(() => other.verify(body, { ...headers })).toThrow('No matching signature')
      },
    ),
    { numRuns: 50 },
  )
})
