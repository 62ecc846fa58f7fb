import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { readClientKeys } from './client-keys.ts'
import { checkClientProof } from './client-proof.ts'

const NOW = Date.UTC(2026, 10, 23)
/** Nobody has to have made the key: any odd number is checked against. */
const rsa = (bits: number, exponent = Buffer.from([1, 0, 1])) => {
  const modulus = Buffer.alloc(bits / 8, 0xff)
  return { kty: 'RSA', n: modulus.toString('base64url'), e: exponent.toString('base64url') }
}
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ecKey = ec.publicKey.export({ format: 'jwk' }) as Record<string, unknown>

test('keys that clients have are taken', () => {
  for (const key of [rsa(2_048), rsa(4_096), rsa(3_072, Buffer.from([3])), ecKey]) {
    expect(readClientKeys({ keys: [key] })).toEqual({ keys: [key] })
  }
})

test.each([
  ['a modulus of 16,384 bits', rsa(16_384)],
  ['a modulus of 4,104 bits', rsa(4_104)],
  ['an exponent of 64 bits', rsa(2_048, Buffer.alloc(8, 0xff))],
  ['an exponent just above 65537', rsa(2_048, Buffer.from([1, 0, 3]))],
  ['a modulus that is no number', { ...rsa(2_048), n: 'é' }],
  ['no modulus', { kty: 'RSA', e: 'AQAB' }],
])('an RSA key with %s is refused, and what to use instead is said', (_, key) => {
  expect(readClientKeys({ keys: [ecKey, key] })).toMatch(/use a P-256 key \(ES256\)/)
})

test('a private key is refused', () => {
  const own = ec.privateKey.export({ format: 'jwk' })
  expect(readClientKeys({ keys: [own] })).toMatch(/private key/)
  expect(readClientKeys({ keys: [{ kty: 'oct', k: 'AAAA' }] })).toMatch(/private key/)
})

test('no proof is checked with a key that was taken before keys had a bound', async () => {
  const assertion = await new SignJWT({ jti: '1' })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer('machine')
    .setSubject('machine')
    .setAudience('https://signals.example.com')
    .setExpirationTime(NOW / 1_000 + 60)
    .sign(ec.privateKey)
  const expected = { clientId: 'machine', audiences: ['https://signals.example.com'], now: NOW }
  await expect(checkClientProof(assertion, { keys: [ecKey] }, expected)).resolves.toMatchObject({
    proofId: '1',
  })
  await expect(checkClientProof(assertion, { keys: [ecKey, rsa(16_384)] }, expected)).rejects.toMatchObject({
    code: 'invalid_client',
    message: expect.stringContaining('4096 bits') as string,
  })
})
