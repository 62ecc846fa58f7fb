import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { anAuthorization, encoded, payerNumber, paymentV1, paymentV2 } from '../testing/sign-payment.ts'
import { readPayment } from './read-payment.ts'

const payer = payerNumber(3)
const authorization = anAuthorization(payer)
const SIGNATURE: `0x${string}` = `0x${'ab'.repeat(64)}1b`
const [v1, v2] = [paymentV1(authorization, SIGNATURE), paymentV2(authorization, SIGNATURE)]
const gateway = paymentV2(anAuthorization(payer, { rail: 'gateway' }), SIGNATURE)

const read = (value: string, name = 'X-PAYMENT') =>
  readPayment(['Host', 'a', name, value, 'Accept', '*/*'], BASE)

/** The refusal of a header: its code, and its reason where there is one. */
function refusal(headers: readonly string[]): string {
  try {
    readPayment(headers, BASE)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    expect(error.message.length).toBeLessThan(400)
    const reason = error.details?.reason
    return reason === undefined ? error.code : `${error.code}: ${reason as string}`
  }
  return 'taken'
}

test('a payment under both names is one; two payments, and two lines of one name, are none', () => {
  const other = encoded(paymentV1(anAuthorization(payerNumber(4)), SIGNATURE))
  const both = readPayment(['X-PAYMENT', encoded(v1), 'PAYMENT-SIGNATURE', encoded(v1)], BASE)
  expect(both).toEqual(read(encoded(v1)))
  expect(refusal(['X-PAYMENT', encoded(v1), 'PAYMENT-SIGNATURE', other])).toBe('payment_malformed')
  expect(refusal(['X-PAYMENT', encoded(v1), 'x-payment', encoded(v1)])).toBe('payment_malformed')
})

test('a payment may begin with a byte order mark', () => {
  const text = `\uFEFF${JSON.stringify(v1)}`
  expect(read(Buffer.from(text).toString('base64'))).toEqual(read(encoded(v1)))
})

const refusalOf = (value: string): string => refusal(['X-PAYMENT', value])

const expected = {
  on: BASE,
  scheme: 'exact',
  rail: 'direct',
  payer: payer.address.toLowerCase(),
  payTo: authorization.payTo,
  value: 20_000n,
  validAfter: 0n,
  validBefore: authorization.validBefore,
  nonce: authorization.nonce,
  signature: SIGNATURE,
}

describe('a payment is read', () => {
  test('of version 1, and of version 2', () => {
    expect(read(encoded(v1))).toEqual({ ...expected, protocol: 1, network: 'base', asset: undefined })
    const asset = BASE.usdc.toLowerCase()
    expect(read(encoded(v2))).toEqual({ ...expected, protocol: 2, network: 'eip155:8453', asset })
  })

  test.each(['X-PAYMENT', 'x-payment', 'PAYMENT-SIGNATURE', 'Payment-Signature'])(
    'of either version from the header %s',
    (name) => {
      expect(read(encoded(v1), name)?.protocol).toBe(1)
      expect(read(encoded(v2), name)?.protocol).toBe(2)
    },
  )

  test('in base64 of both alphabets, padded or not, and as JSON', () => {
    const json = JSON.stringify({ ...v1, more: '?>~\u00ff' })
    const base64 = Buffer.from(json).toString('base64')
    const url = Buffer.from(json).toString('base64url')
    expect(base64).not.toBe(url)
    for (const text of [base64, base64.replace(/=+$/, ''), url, ` ${base64} `, json]) {
      expect(read(text)).toEqual(read(encoded(v1)))
    }
  })

  test('on the rail whose domain it names', () => {
    expect(read(encoded(gateway))?.rail).toBe('gateway')
    expect(read(encoded(v2))?.rail).toBe('direct')
    expect(read(encoded({ ...v2, accepted: { ...v2.accepted, extra: null } }))?.rail).toBe('direct')
  })

  test('in one spelling, however addresses and hashes are written', () => {
    const { signature, authorization: sent } = v1.payload
    const upper = (text: string): string => `0x${text.slice(2).toUpperCase()}`
    const payload = {
      signature: upper(signature),
      authorization: { ...sent, from: payer.address, nonce: upper(sent.nonce) },
    }
    expect(read(encoded({ ...v1, payload }))).toEqual(read(encoded(v1)))
    const ofHardware = signature.replace(/1([bc])$/, (_, v) => (v === 'b' ? '00' : '01'))
    expect(ofHardware).not.toBe(signature)
    const sent1 = { ...v1, payload: { ...v1.payload, signature: ofHardware } }
    expect(read(encoded(sent1))).toEqual(read(encoded(v1)))
  })

  test('whatever else stands beside it', () => {
    const extended = {
      ...v2,
      resource: { url: 'https://elsewhere' },
      extensions: { bazaar: {} },
      __proto__x: 1,
    }
    expect(read(encoded(extended))).toEqual(read(encoded(v2)))
  })
})

test('a request without a payment brings none', () => {
  expect(readPayment([], BASE)).toBeUndefined()
  expect(readPayment(['Content-Type', 'application/json', 'X-Paymentx', encoded(v1)], BASE)).toBeUndefined()
})

describe('payment_malformed', () => {
  test.each([
    ['twice in one name', ['X-PAYMENT', encoded(v1), 'x-payment', encoded(v1)]],
    ['in both names', ['X-PAYMENT', encoded(v1), 'PAYMENT-SIGNATURE', encoded(v2)]],
  ])('%s', (_, headers) => {
    expect(refusal(headers)).toBe('payment_malformed')
  })

  test.each([
    ['nothing', ''],
    ['spaces', '   '],
    ['words', 'pay me'],
    ['two merged headers', `${encoded(v1)}, ${encoded(v1)}`],
    ['base64 with a stranger in it', `${encoded(v1).slice(0, 20)}!${encoded(v1).slice(20)}`],
    ['padding in front', `==${encoded(v1)}`],
    ['base64 of no JSON', Buffer.from('pay me').toString('base64')],
    ['base64 of bytes', Buffer.from([0xff, 0xfe, 0x00, 0x80]).toString('base64')],
    ['half of it', encoded(v1).slice(0, 60)],
    ['half of it, as JSON', JSON.stringify(v1).slice(0, 60)],
    ['an array', encoded([v1])],
    ['a text', encoded('x')],
    ['a number', encoded(1)],
    ['null', encoded(null)],
    ['base64 of base64', Buffer.from(encoded(v1)).toString('base64')],
    ['a header past the limit', encoded({ ...v1, more: 'x'.repeat(LIMITS.paymentHeaderBytes) })],
    ['brackets without end', '{"a":'.repeat(3_000)],
    ['a deep array', Buffer.from('['.repeat(12_000)).toString('base64')],
  ])('%s', (_, header) => {
    expect(refusalOf(header)).toBe('payment_malformed')
  })
})

describe('payment_refused', () => {
  test.each([undefined, null, 0, 3, '1', 1.5, [1], {}, true])('version %j', (x402Version) => {
    expect(refusalOf(encoded({ ...v1, x402Version }))).toBe('payment_refused: invalid_x402_version')
  })

  test.each([undefined, 'upto', 'Exact', null, ['exact']])('scheme %j', (scheme) => {
    expect(refusalOf(encoded({ ...v1, scheme }))).toBe('payment_refused: unsupported_scheme')
    const accepted = { ...v2.accepted, scheme }
    expect(refusalOf(encoded({ ...v2, accepted }))).toBe('payment_refused: unsupported_scheme')
  })

  test.each([undefined, 'base-sepolia', 'BASE', 8453, 'eip155:1'])('network %j', (network) => {
    expect(refusalOf(encoded({ ...v1, network }))).toBe('payment_refused: invalid_network')
    const accepted = { ...v2.accepted, network }
    expect(refusalOf(encoded({ ...v2, accepted }))).toBe('payment_refused: invalid_network')
  })

  test('the network of one version in the other', () => {
    expect(refusalOf(encoded({ ...v1, network: 'eip155:8453' }))).toContain('invalid_network')
    const accepted = { ...v2.accepted, network: 'base' }
    expect(refusalOf(encoded({ ...v2, accepted }))).toContain('invalid_network')
  })

  test.each([
    { name: 'USDC', version: '2' },
    { name: 'USD Coin', version: '1' },
    { name: 'GatewayWalletBatched', version: '2', verifyingContract: BASE.gateway },
    { name: 'GatewayWalletBatched', version: '1', verifyingContract: BASE.usdc },
    { name: '', version: '2' },
    { name: '__proto__' },
  ])('the domain %j', (extra) => {
    const accepted = { ...v2.accepted, extra }
    expect(refusalOf(encoded({ ...v2, accepted }))).toBe('payment_refused: invalid_payment_requirements')
  })

  const members = v1.payload.authorization
  const TOO_MUCH = (2n ** 256n).toString()
  test.each<[string, unknown]>([
    ['no payload', undefined],
    ['null', null],
    ['a text', '0x'],
    ['an array', [v1.payload]],
    ['no authorization', { signature: SIGNATURE }],
    ['no signature', { authorization: members }],
    ['a signature of letters', { signature: 'signed', authorization: members }],
    ['a signature as a number', { signature: 1, authorization: members }],
    ['a number for a value', { signature: SIGNATURE, authorization: { ...members, value: 20_000 } }],
    ['a negative value', { signature: SIGNATURE, authorization: { ...members, value: '-20000' } }],
    ['a value in hexadecimal', { signature: SIGNATURE, authorization: { ...members, value: '0x4e20' } }],
    ['a value with a point', { signature: SIGNATURE, authorization: { ...members, value: '20000.0' } }],
    ['an empty value', { signature: SIGNATURE, authorization: { ...members, value: '' } }],
    ['2^256', { signature: SIGNATURE, authorization: { ...members, value: TOO_MUCH } }],
    ['79 digits', { signature: SIGNATURE, authorization: { ...members, validBefore: '9'.repeat(79) } }],
    [
      'ten thousand digits',
      { signature: SIGNATURE, authorization: { ...members, validAfter: '9'.repeat(9_000) } },
    ],
    ['Infinity', { signature: SIGNATURE, authorization: { ...members, validBefore: 'Infinity' } }],
    ['digits of another script', { signature: SIGNATURE, authorization: { ...members, value: '२००००' } }],
    ['a short address', { signature: SIGNATURE, authorization: { ...members, from: '0x1234' } }],
    ['a short nonce', { signature: SIGNATURE, authorization: { ...members, nonce: '0x01' } }],
    ['an address as an array', { signature: SIGNATURE, authorization: { ...members, to: [members.to] } }],
  ])('payload: %s', (_, payload) => {
    expect(refusalOf(encoded({ ...v1, payload }))).toBe('payment_refused: invalid_payload')
    expect(refusalOf(encoded({ ...v2, payload }))).toBe('payment_refused: invalid_payload')
  })

  test.each([undefined, null, 'exact', 7])('accepted: %j', (accepted) => {
    expect(refusalOf(encoded({ ...v2, accepted }))).toBe('payment_refused: invalid_payload')
  })

  test('members that only a prototype has', () => {
    const inherited = '{"x402Version":1,"__proto__":{"scheme":"exact","network":"base"}}'
    expect(refusalOf(inherited)).toBe('payment_refused: unsupported_scheme')
    expect(refusalOf('{"__proto__":{"x402Version":1}}')).toBe('payment_refused: invalid_x402_version')
    expect(({} as { scheme?: unknown }).scheme).toBeUndefined()
  })
})

test('whatever comes is read or refused, and nothing else happens', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.base64String(),
    fc.json(),
    fc.json().map((json) => Buffer.from(json).toString('base64')),
    fc
      .record({
        key: fc.constantFrom('payload', 'scheme', 'network', 'x402Version', 'accepted'),
        value: fc.jsonValue(),
      })
      .map(({ key, value }) => encoded({ ...v2, [key]: value })),
    fc
      .tuple(fc.nat(encoded(v1).length), fc.string({ maxLength: 3 }))
      .map(([at, text]) => `${encoded(v1).slice(0, at)}${text}${encoded(v1).slice(at + text.length)}`),
  )
  fc.assert(
    fc.property(anything, (header) => {
      expect(refusalOf(header)).toMatch(/^(?:taken|payment_malformed|payment_refused: [a-z0-9_]+)$/)
    }),
    { numRuns: 500 },
  )
})
