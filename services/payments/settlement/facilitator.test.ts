import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { opinionOf, verdictOf } from './facilitator.ts'
import { cdpAuthorize } from './facilitator-token.ts'

describe('a verdict', () => {
  test.each([
    [200, { success: true, transaction: '0xaa' }, 'settled'],
    [400, { success: true, transaction: '0xaa' }, 'settled'],
    [200, { success: true }, 'unknown'],
    [200, { success: false, errorReason: 'settlement_pending', transaction: '0xaa' }, 'pending'],
    [200, { success: false, errorReason: 'settlement_pending' }, 'unknown'],
    [200, { success: false, errorReason: 'invalid_exact_evm_nonce_already_used' }, 'used'],
    [200, { success: false, errorReason: 'nonce_already_used' }, 'used'],
    [200, { success: false, errorReason: 'refused: invalid nonce' }, 'unknown'],
    [200, { success: false, errorReason: 'nonce unused' }, 'unknown'],
    [200, { success: false, errorReason: 'not nonce_already_used' }, 'unknown'],
    [200, { success: false, errorReason: 'sufficient or insufficient_funds' }, 'unknown'],
    [200, { success: false, errorReason: 'no settlement_pending', transaction: '0xaa' }, 'unknown'],
    [402, { success: false, errorReason: 'insufficient_funds' }, 'refused'],
    [400, { success: false, errorReason: 'invalid_signature' }, 'refused'],
    [400, { success: false, errorReason: null }, 'unknown'],
    [200, { success: false, errorReason: 'unexpected_settle_error' }, 'unknown'],
    [200, { success: false, errorReason: 'duplicate_settlement' }, 'unknown'],
    [200, { success: false, errorReason: 'invalid_exact_evm_transaction_failed' }, 'unknown'],
    [503, { success: false, errorReason: 'insufficient_funds' }, 'unknown'],
    [200, { success: 'true', transaction: '0xaa' }, 'unknown'],
    [200, null, 'unknown'],
  ] as const)('of HTTP %i and %j is %s', (status, json, kind) => {
    expect(verdictOf(status, json).kind).toBe(kind)
  })

  test('of anything is one, and never settled without success and a transaction', () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), fc.jsonValue(), (status, json) => {
        const verdict = verdictOf(status, json)
        const said = json as { success?: unknown; transaction?: unknown } | null
        const isSaid =
          said?.success === true && typeof said.transaction === 'string' && said.transaction !== ''
        expect(verdict.kind === 'settled').toBe(isSaid && (said.transaction as string).length <= 128)
      }),
    )
  })
})

test.each([
  [200, { isValid: true, payer: '0x11' }, 'valid'],
  [200, { isValid: false, invalidReason: 'insufficient_funds' }, 'refused'],
  [400, { isValid: false, invalidReason: null }, 'refused'],
  [500, { isValid: false, invalidReason: 'unexpected_verify_error' }, 'unknown'],
  [200, { isValid: 'true' }, 'unknown'],
  [404, {}, 'unknown'],
  [200, null, 'unknown'],
] as const)('an opinion of HTTP %i and %j is %s', (status, json, kind) => {
  expect(opinionOf(status, json).kind).toBe(kind)
})

describe("a token of Coinbase's platform", () => {
  const url = new URL('https://api.cdp.coinbase.com/platform/v2/x402/settle?x=1')
  const partsOf = (credential: string) => {
    const [scheme, token = ''] = credential.split(' ')
    const [header = '', claims = '', signature = ''] = token.split('.')
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())
    return {
      scheme,
      header: read(header) as { alg: string; kid: string; nonce: string },
      claims: read(claims),
      isSignedBy: (key: KeyObject) => {
        const [data, bytes] = [Buffer.from(`${header}.${claims}`), Buffer.from(signature, 'base64url')]
        return verify(null, data, key, bytes)
      },
    }
  }
  const ed25519 = generateKeyPairSync('ed25519')
  const raw = Buffer.concat([
    ed25519.privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32),
    ed25519.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
  ]).toString('base64')

  test.each([['Ed25519 as the platform hands it out', raw, 'EdDSA', ed25519.publicKey]])(
    '%s',
    async (_, secret, alg, publicKey) => {
      const authorize = cdpAuthorize(`the-id:${secret}`, () => 1_700_000_000_999)
      const token = partsOf(await authorize('POST', url))
      expect(token.scheme).toBe('Bearer')
      expect(token.header).toMatchObject({ alg, kid: 'the-id', typ: 'JWT' })
      expect(token.claims).toEqual({
        iss: 'cdp',
        sub: 'the-id',
        iat: 1_700_000_000,
        nbf: 1_700_000_000,
        exp: 1_700_000_120,
        uris: ['POST api.cdp.coinbase.com/platform/v2/x402/settle'],
      })
      expect(token.isSignedBy(publicKey)).toBe(true)
      expect(token.isSignedBy(createPublicKey(generateKeyPairSync('ed25519').privateKey))).toBe(false)
      expect(partsOf(await authorize('POST', url)).header.nonce).not.toBe(token.header.nonce)
    },
  )

  test('a key that is none is refused without being shown', () => {
    for (const secret of ['not-a-key', Buffer.alloc(48, 1).toString('base64')]) {
      expect(() => cdpAuthorize(`the-id:${secret}`, Date.now)).toThrow(/X402_CDP_KEY/)
      expect(() => cdpAuthorize(`the-id:${secret}`, Date.now)).not.toThrow(new RegExp(secret.slice(0, 8)))
    }
  })
})
