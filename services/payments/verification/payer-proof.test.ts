import { describe, expect, test } from 'vitest'
import { BASE, BASE_SEPOLIA } from '../../../contracts/chain.ts'
import { isServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PresentedPayment, PresentedProof } from '../payments.ts'
import { anAuthorization, encoded, NOW_S, payerNumber, signInOf } from '../testing/sign-payment.ts'
import { createPayerProofs, readProof } from './payer-proof.ts'

const URL_OF_SERVICE = 'https://signals.example.com'
const payer = payerNumber(41)
const authorization = anAuthorization(payer)
const { nonce } = authorization
const ID = '0190a000-0000-7000-8000-000000000001'
const terms = { nonce, url: URL_OF_SERVICE }

const proofs = createPayerProofs({
  key: Buffer.alloc(32, 1),
  publicUrl: () => URL_OF_SERVICE,
  now: () => NOW_S * 1_000,
})
const presented = (proof: PresentedProof | undefined): PresentedPayment => ({
  ...authorization,
  protocol: 2,
  scheme: 'exact',
  network: BASE.network,
  asset: BASE.usdc,
  signature: '0x',
  proof,
})
/** The reason for which a proof is refused; undefined where it is taken. */
const refusal = async (proof: PresentedProof | undefined, id: string | undefined = ID) =>
  proofs.require(presented(proof), id).then(
    () => undefined,
    (error: unknown) => (isServiceError(error, 'payment_unproven') ? error.message : String(error)),
  )
const bySigning = async (change: Partial<Parameters<typeof signInOf>[1]> = {}, who = payer) =>
  refusal({ signIn: await signInOf(who, { ...terms, ...change }) })

describe('the payer is known', () => {
  test('by the secret of the payment, and of no other one', async () => {
    const secret = proofs.secretOf(ID)
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(await refusal({ secret })).toBeUndefined()
    expect(await refusal({ secret: proofs.secretOf(ID.replace('1', '2')) })).toContain('Payment-Secret')
    expect(await refusal({ secret: `${secret}=` })).toContain('Payment-Secret')
    expect(await refusal({ secret: '' })).toContain('Payment-Secret')
    // What has no claim has no secret.
    await expect(proofs.require(presented({ secret }), undefined)).rejects.toThrow('Payment-Secret')
    const other = createPayerProofs({
      key: Buffer.alloc(32, 2),
      publicUrl: () => URL_OF_SERVICE,
      now: () => 0,
    })
    expect(other.secretOf(ID)).not.toBe(secret)
  })

  test('by a message that viem writes and the wallet signs, with a statement or without', async () => {
    expect(await bySigning()).toBeUndefined()
    expect(await bySigning({ statement: 'Read the answer again' })).toBeUndefined()
    expect(await bySigning({ uri: `${URL_OF_SERVICE}/x402/get_trade_call` })).toBeUndefined()
    const signIn = await signInOf(payer, terms)
    expect(await refusal({ signIn, secret: 'wrong' })).toBeUndefined()
    expect(await refusal({ signIn: Buffer.from(signIn, 'base64').toString() })).toBeUndefined()
  })
})

describe('nobody else is', () => {
  test.each<[string, Partial<Parameters<typeof signInOf>[1]>, string]>([
    ['another payment', { nonce: `0x${'1'.repeat(64)}` }, 'its nonce is'],
    ['another service', { domain: 'elsewhere.example' }, 'its domain is "elsewhere.example"'],
    ['an address elsewhere', { uri: 'https://elsewhere.example/x402' }, 'its uri is'],
    ['another chain', { on: BASE_SEPOLIA }, 'its chainId is'],
    ['long ago', { atMs: NOW_S * 1_000 - LIMITS.payerSignInMs - 1 }, 'it was issued at'],
    ['the future', { atMs: NOW_S * 1_000 + LIMITS.payerSignInAheadMs + 1 }, 'it was issued at'],
  ])('by a message of %s', async (_, change, why) => {
    expect(await bySigning(change)).toContain(why)
  })

  test('by the edges of its time', async () => {
    expect(await bySigning({ atMs: NOW_S * 1_000 - LIMITS.payerSignInMs })).toBeUndefined()
    expect(await bySigning({ atMs: NOW_S * 1_000 + LIMITS.payerSignInAheadMs })).toBeUndefined()
  })

  test('by the signature of another wallet, in its own name or in that of the payer', async () => {
    const stranger = payerNumber(42)
    expect(await bySigning({}, stranger)).toContain('not the payer')
    const own = JSON.parse(Buffer.from(await signInOf(stranger, terms), 'base64').toString()) as object
    const signIn = encoded({ ...own, address: payer.address })
    expect(await refusal({ signIn })).toContain('signed by')
  })

  test('by a message that was changed after it was signed', async () => {
    const own = JSON.parse(Buffer.from(await signInOf(payer, terms), 'base64').toString()) as object
    for (const change of [
      { issuedAt: new Date(NOW_S * 1_000 - 1).toISOString() },
      { statement: 'more' },
      { resources: ['https://signals.example.com'] },
      { requestId: '1' },
    ])
      expect(await refusal({ signIn: encoded({ ...own, ...change }) })).toContain('signed by')
    const past = new Date(NOW_S * 1_000).toISOString()
    expect(await refusal({ signIn: encoded({ ...own, expirationTime: past }) })).toContain('expired')
    const ahead = new Date(NOW_S * 1_000 + 1).toISOString()
    expect(await refusal({ signIn: encoded({ ...own, notBefore: ahead }) })).toContain('time has not come')
    expect(await refusal({ signIn: encoded({ ...own, statement: 'a\nURI: b' }) })).toContain('statement')
    expect(await refusal({ signIn: encoded({ ...own, signature: '0x12' }) })).toContain('signature')
  })

  test.each(['', 'x', '{', 'e30=', encoded([]), encoded(null)])('by %j', async (signIn) => {
    expect(await refusal({ signIn })).toContain('SIGN-IN-WITH-X')
  })

  test('and whoever proves nothing is told what the payer can sign', async () => {
    await expect(proofs.require(presented(undefined), ID)).rejects.toMatchObject({
      code: 'payment_unproven',
      details: {
        sign_in: {
          domain: 'signals.example.com',
          uri: URL_OF_SERVICE,
          version: '1',
          chainId: 'eip155:8453',
          type: 'eip191',
          nonce: nonce.slice(2),
        },
      },
    })
  })
})

test('a proof is read from its headers, whatever their case', () => {
  expect(readProof(['Host', 'x', 'PAYMENT-Secret', 's', 'sign-in-with-x', 'm'])).toEqual({
    secret: 's',
    signIn: 'm',
  })
  expect(readProof(['Payment-Secret', ''])).toEqual({ secret: '' })
  expect(readProof(['Host', 'payment-secret', 'X-PAYMENT', 'a'])).toBeUndefined()
})
