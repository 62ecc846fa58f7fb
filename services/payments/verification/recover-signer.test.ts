import fc from 'fast-check'
import { recoverTypedDataAddress } from 'viem'
import { expect, test } from 'vitest'
import { BASE, BASE_SEPOLIA } from '../../../contracts/domain/chain.ts'
import { RAILS } from '../../../contracts/events/payment-events.ts'
import { payerNumber, signAuthorization } from '../testing/sign-payment.ts'
import { AUTHORIZATION_TYPES, type Authorization, openRecovery, signingDomain } from './recover-signer.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((all): `0x${string}` => `0x${Buffer.from(all).toString('hex')}`)
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const authorizations: fc.Arbitrary<Authorization> = fc.record({
  on: fc.constantFrom(BASE, BASE_SEPOLIA),
  rail: fc.constantFrom(...RAILS),
  payer: hex(20),
  payTo: hex(20),
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: hex(32),
})
const keys = fc.bigInt({ min: 1n, max: ORDER - 1n })
const recover = await openRecovery({ report: () => expect.unreachable('the binary loads here') })

const byViem = async ({ on, rail, ...terms }: Authorization, signature: `0x${string}`) => {
  const typed = {
    domain: signingDomain(rail, on),
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { ...terms, from: terms.payer, to: terms.payTo },
  } as const
  return (await recoverTypedDataAddress({ ...typed, signature }).catch(() => undefined))?.toLowerCase()
}

test('libsecp256k1 and viem find the same signer, which is the one who signed', async () => {
  await fc.assert(
    fc.asyncProperty(authorizations, keys, async (authorization, key) => {
      const payer = payerNumber(key)
      const signature = await signAuthorization(payer, authorization)
      const signer = payer.address.toLowerCase()
      expect(await recover(authorization, signature)).toBe(signer)
      expect(await byViem(authorization, signature)).toBe(signer)
    }),
    { numRuns: 40 },
  )
})

test('both agree on flipped bits and any v', async () => {
  const flips = fc.record({
    v: fc.constantFrom(0, 1, 2, 26, 27, 28, 29, 255),
    bits: fc.array(fc.nat(511), { maxLength: 2 }),
  })
  await fc.assert(
    fc.asyncProperty(authorizations, keys, flips, async (authorization, key, { v, bits }) => {
      const bytes = Buffer.from((await signAuthorization(payerNumber(key), authorization)).slice(2), 'hex')
      bytes[64] = v
      for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const signature = `0x${bytes.toString('hex')}` as const
      const signer = await recover(authorization, signature)
      // Verification refuses any other v before it asks for the signer.
      if (v === 27 || v === 28) expect(signer).toBe(await byViem(authorization, signature))
    }),
    { numRuns: 60 },
  )
})
