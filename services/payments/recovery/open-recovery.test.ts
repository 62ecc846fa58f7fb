import fc from 'fast-check'
import { hashTypedData } from 'viem'
import { describe, expect, test } from 'vitest'
import { BASE, BASE_SEPOLIA } from '../../../contracts/chain.ts'
import { RAILS } from '../../../contracts/payment-events.ts'
import { anAuthorization, payerNumber, signAuthorization } from '../testing/sign-payment.ts'
import { authorizationDigest } from './authorization-digest.ts'
import { createNativeRecovery } from './native-recovery.ts'
import { openRecovery } from './open-recovery.ts'
import type { Authorization, RecoverSigner } from './recover-signer.ts'
import { signingDomain } from './signing-domains.ts'
import { AUTHORIZATION_TYPES, createViemRecovery } from './viem-recovery.ts'

const [fast, oracle] = [createNativeRecovery(), createViemRecovery()]
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

const bothOf = async (authorization: Authorization, signature: `0x${string}`) => [
  await fast.recover(authorization, signature),
  await oracle.recover(authorization, signature),
]

test('the hash that is signed is the one that viem makes, whatever was hashed before', () => {
  fc.assert(
    fc.property(authorizations, (authorization) => {
      const { on, rail, payer: from, payTo: to } = authorization
      const primaryType = 'TransferWithAuthorization'
      const message = { ...authorization, from, to }
      const expected = hashTypedData({
        domain: signingDomain(rail, on),
        types: AUTHORIZATION_TYPES,
        primaryType,
        message,
      })
      expect(`0x${Buffer.from(authorizationDigest(authorization)).toString('hex')}`).toBe(expected)
    }),
  )
})

describe('the fast way and viem agree', () => {
  test('on who signed', async () => {
    await fc.assert(
      fc.asyncProperty(authorizations, keys, async (authorization, key) => {
        const payer = payerNumber(key)
        const signature = await signAuthorization(payer, authorization)
        const signer = payer.address.toLowerCase()
        expect(await bothOf(authorization, signature)).toEqual([signer, signer])
      }),
      { numRuns: 60 },
    )
  })

  test('on signatures with a high s, a v of 0 or 1, and flipped bits', async () => {
    await fc.assert(
      fc.asyncProperty(
        authorizations,
        keys,
        fc.record({
          isHigh: fc.boolean(),
          v: fc.constantFrom(0, 1, 2, 26, 27, 28, 29, 255),
          bits: fc.array(fc.nat(511), { maxLength: 2 }),
        }),
        async (authorization, key, { isHigh, v, bits }) => {
          const signature = await signAuthorization(payerNumber(key), authorization)
          const changed = await bothOf(authorization, change(signature, { isHigh, v, bits }))
          expect(changed[0]).toBe(changed[1])
        },
      ),
      { numRuns: 120 },
    )
  })

  test.each([
    ['nothing', '0x'],
    ['64 bytes', `0x${'11'.repeat(64)}`],
    ['66 bytes', `0x${'11'.repeat(66)}`],
    ['r of zero', `0x${'00'.repeat(32)}${'11'.repeat(32)}1b`],
    ['s of zero', `0x${'11'.repeat(32)}${'00'.repeat(32)}1b`],
    ['r past the order', `0x${'ff'.repeat(32)}${'11'.repeat(32)}1b`],
    ['s past the order', `0x${'11'.repeat(32)}${'ff'.repeat(32)}1b`],
    ['r that is no point', `0x${'00'.repeat(31)}05${'11'.repeat(32)}1b`],
  ] as const)('that nobody signed with %s', async (_, signature) => {
    expect(await bothOf(anAuthorization(payerNumber(1)), signature)).toEqual([undefined, undefined])
  })
})

function change(
  signature: `0x${string}`,
  { isHigh, v, bits }: { isHigh: boolean; v: number; bits: number[] },
): `0x${string}` {
  const bytes = Buffer.from(signature.slice(2), 'hex')
  if (isHigh) {
    const s = ORDER - BigInt(`0x${bytes.subarray(32, 64).toString('hex')}`)
    bytes.write(s.toString(16).padStart(64, '0'), 32, 'hex')
  }
  bytes[64] = v
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return `0x${bytes.toString('hex')}`
}

describe('openRecovery', () => {
  const signer = payerNumber(7)
  const authorization = anAuthorization(signer)

  async function open(createFast?: () => RecoverSigner) {
    const reports: string[] = []
    const recovery = await openRecovery({
      report: (_, { reason }) => void reports.push(reason ?? ''),
      ...(createFast && { createFast }),
    })
    const signature = await signAuthorization(signer, authorization)
    const recovered = await recovery.recover(authorization, signature)
    expect(recovered).toBe(signer.address.toLowerCase())
    return { name: recovery.name, reports }
  }

  test('takes the fast way where it is right', async () => {
    expect(await open()).toEqual({ name: 'native', reports: [] })
  })

  test('takes viem and says so where the binary does not load', async () => {
    const missing = () => {
      throw new Error('no binary for this platform')
    }
    expect(await open(missing)).toEqual({ name: 'viem', reports: ['no binary for this platform'] })
  })

  test('takes viem where the other recovers wrongly, or everything to the payer', async () => {
    const nobody = await open(() => ({ name: 'native', recover: async () => undefined }))
    expect(nobody.name).toBe('viem')
    expect(nobody.reports).toEqual([expect.stringContaining('it takes nobody for the signer')])
    const anybody = await open(() => ({ name: 'native', recover: async ({ payer }) => payer }))
    expect(anybody.name).toBe('viem')
    expect(anybody.reports).toEqual([expect.stringContaining('of a signature that is of 0x')])
  })
})
