import { describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import type { PresentedPayment } from '../payments.ts'
import { readPayment } from '../reading/read-payment.ts'
import {
  anAuthorization,
  encoded,
  NOW_S,
  nonceNumber,
  PAY_TO,
  payerNumber,
  paymentV1,
  paymentV2,
  signAuthorization,
} from '../testing/sign-payment.ts'
import { type Authorization, contractOf, openRecovery, type RecoverSigner } from './recover-signer.ts'
import { requireValidity, verifyPayment } from './verify-payment.ts'

const payer = payerNumber(5)
const real = await openRecovery({ report: () => expect.unreachable('the fast way is right here') })
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Counts what costs something. */
function counting() {
  let recoveries = 0
  const recover: RecoverSigner = (authorization, signature) => {
    recoveries += 1
    return real(authorization, signature)
  }
  return { recover, count: () => recoveries }
}

async function presentedBy(
  authorization: Authorization,
  protocol: 1 | 2 = 2,
  signature?: `0x${string}`,
): Promise<PresentedPayment> {
  const signed = signature ?? (await signAuthorization(payer, authorization))
  const sent = protocol === 1 ? paymentV1(authorization, signed) : paymentV2(authorization, signed)
  const presented = readPayment(['X-PAYMENT', encoded(sent)], BASE)
  if (presented === undefined) throw new Error('not read')
  return presented
}

const verify = (presented: PresentedPayment, price = 20_000n, recovery: RecoverSigner = real) =>
  verifyPayment(presented, price, { payTo: PAY_TO, recovery })

const WEEK = 604_800

/** The reason of a refusal, and how many signatures were looked at for it. */
async function refusal(presented: PresentedPayment, price?: bigint): Promise<[string, number]> {
  const recovery = counting()
  try {
    await verify(presented, price, recovery.recover)
  } catch (error) {
    const { code, details } = error as { code: string; details?: { reason?: string } }
    expect(code).toBe('payment_refused')
    return [details?.reason ?? '', recovery.count()]
  }
  return ['verified', recovery.count()]
}

describe('a payment that is as it should be', () => {
  test.each([1, 2] as const)(
    'is verified in version %s, and named by its authorization',
    async (protocol) => {
      const verified = await verify(await presentedBy(anAuthorization(payer), protocol))
      const address = payer.address.toLowerCase()
      expect(verified).toMatchObject({ payer: address, value: 20_000n, protocol })
      expect(verified.stream).toBe(
        `payment-${BASE.id}.${BASE.usdc.toLowerCase()}.${address}.${nonceNumber(1)}`,
      )
    },
  )

  test('is verified on the rail of the gateway under its own domain, and named by it', async () => {
    const authorization = anAuthorization(payer, { rail: 'gateway', validBefore: BigInt(NOW_S + WEEK + 100) })
    const verified = await verify(await presentedBy(authorization))
    expect(verified.rail).toBe('gateway')
    expect(verified.stream).toContain(`.${contractOf('gateway', BASE)}.`)
  })
})

describe('before a signature is looked at, it is refused', () => {
  const RECIPIENT = 'invalid_exact_evm_payload_recipient_mismatch'

  test.each<[string, Partial<Authorization>, string]>([
    ['to somebody else', { payTo: `0x${'33'.repeat(20)}` }, RECIPIENT],
  ])('%s', async (_, change, reason) => {
    expect(await refusal(await presentedBy(anAuthorization(payer, change)))).toEqual([reason, 0])
  })

  test.each([
    [1, 19_999n, 'invalid_exact_evm_payload_authorization_value'],
    [1, 20_001n, 'invalid_exact_evm_payload_authorization_value'],
    [2, 50_000n, 'invalid_exact_evm_payload_authorization_value_mismatch'],
    [2, 0n, 'invalid_exact_evm_payload_authorization_value_mismatch'],
    [2, 2n ** 256n - 1n, 'invalid_exact_evm_payload_authorization_value_mismatch'],
  ] as const)('in version %s over %s for 0.02', async (protocol, value, reason) => {
    expect(await refusal(await presentedBy(anAuthorization(payer, { value }), protocol))).toEqual([reason, 0])
  })

  test('over the price of another request', async () => {
    const [reason] = await refusal(await presentedBy(anAuthorization(payer)), 50_000n)
    expect(reason).toBe('invalid_exact_evm_payload_authorization_value_mismatch')
  })

  test('for another token or another network', async () => {
    const presented = await presentedBy(anAuthorization(payer))
    expect(await refusal({ ...presented, asset: `0x${'44'.repeat(20)}` })).toEqual([
      'invalid_payment_requirements',
      0,
    ])
    expect(await refusal({ ...presented, network: 'base' })).toEqual(['invalid_network', 0])
  })

  test.each<[string, (signature: string) => string]>([
    ['high s', (signature) => withHighS(signature, 'same')],
    [
      'high s and the other v: the twin that recovers to the payer',
      (signature) => withHighS(signature, 'other'),
    ],
    ['v of 29', (signature) => `${signature.slice(0, 130)}1d`],
    ['64 bytes (EIP-2098)', (signature) => signature.slice(0, 130)],
    ['66 bytes', (signature) => `${signature}00`],
    ['no bytes', () => '0x'],
    ['half a byte more', (signature) => `${signature}0`],
    [
      'the wrapped form of an account with code (ERC-6492)',
      (signature) => `${signature}${'6492'.repeat(16)}`,
    ],
    ['r of zero', (signature) => `0x${'0'.repeat(64)}${signature.slice(66)}`],
    ['r past the order', (signature) => `0x${'f'.repeat(64)}${signature.slice(66)}`],
    ['s of zero', (signature) => `${signature.slice(0, 66)}${'0'.repeat(64)}1b`],
  ])('with a signature of %s', async (_, change) => {
    const authorization = anAuthorization(payer)
    const signature = change(await signAuthorization(payer, authorization)) as `0x${string}`
    expect(await refusal(await presentedBy(authorization, 2, signature))).toEqual([
      'invalid_exact_evm_payload_signature',
      0,
    ])
  })
})

function withHighS(signature: string, v: 'same' | 'other'): string {
  const s = (ORDER - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  const parity = signature.slice(130)
  const flipped = parity === '1b' ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s}${v === 'same' ? parity : flipped}`
}

describe('a signature over something else is refused', () => {
  const authorization = anAuthorization(payer)

  test.each<[string, Partial<Authorization>]>([
    ['another amount', { value: 10_000n }],
    ['another recipient', { payTo: `0x${'33'.repeat(20)}` }],
    ['another nonce', { nonce: nonceNumber(2) }],
    ['another end', { validBefore: authorization.validBefore + 1n }],
    ['another beginning', { validAfter: 1n }],
    ['the domain of the other rail', { rail: 'gateway' }],
  ])('%s', async (_, change) => {
    const signature = await signAuthorization(payer, { ...authorization, ...change })
    expect(await refusal(await presentedBy(authorization, 2, signature))).toEqual([
      'invalid_exact_evm_payload_signature',
      1,
    ])
  })

  test('and one by somebody else', async () => {
    const signature = await signAuthorization(payerNumber(6), authorization)
    expect((await refusal(await presentedBy(authorization, 2, signature)))[0]).toBe(
      'invalid_exact_evm_payload_signature',
    )
  })
})

test('of ten thousand forged payments, each costs one recovery at most, and those that cannot be true none', async () => {
  const recovery = counting()
  const presented = await presentedBy(anAuthorization(payer))
  const bytes = (number: number, most: string): string => `${most}${number.toString(16).padStart(62, '0')}`
  const wrong: PresentedPayment[] = []
  for (let number = 1; number <= 10_000; number++) {
    const signature = `0x${bytes(number, '5a')}${bytes(number, '5a')}1b` as const
    const forged = { ...presented, nonce: nonceNumber(number), signature }
    // Three of four cannot be what was asked for, whoever signed them.
    const faults = [
      {},
      { value: 1n },
      { payTo: payer.address.toLowerCase() as `0x${string}` },
      { signature: signature.replace(/1b$/, '00') as `0x${string}` },
    ]
    wrong.push({ ...forged, ...faults[number % 4] })
  }
  const outcomes = await Promise.allSettled(
    wrong.map((payment) => verify(payment, 20_000n, recovery.recover)),
  )
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(10_000)
  expect(recovery.count()).toBe(2_500)
})

describe('the time that is left', () => {
  const BEFORE = 'invalid_exact_evm_payload_authorization_valid_before'
  const AFTER = 'invalid_exact_evm_payload_authorization_valid_after'
  const week = { rail: 'gateway', validBefore: BigInt(NOW_S + WEEK) } as const
  const now = NOW_S * 1_000 + 999

  test.each([
    ['the least', { validBefore: BigInt(NOW_S + 60) }],
    ['the most', { validBefore: BigInt(NOW_S + 600) }],
    ['a beginning one second ago', { validAfter: BigInt(NOW_S - 1) }],
  ])('may be %s', async (_, change) => {
    const verified = await verify(await presentedBy(anAuthorization(payer, change)))
    expect(() => requireValidity(verified, now)).not.toThrow()
  })

  test.each<[string, Partial<Authorization>, string]>([
    ['for less than a minute', { validBefore: BigInt(NOW_S + 59) }, BEFORE],
    ['of the past', { validBefore: BigInt(NOW_S - 1) }, BEFORE],
    ['for more than ten minutes', { validBefore: BigInt(NOW_S + 601) }, BEFORE],
    ['for ever', { validBefore: 2n ** 256n - 1n }, BEFORE],
    ['not valid yet', { validAfter: BigInt(NOW_S + 1) }, AFTER],
    ['valid from this very second, which the token does not take', { validAfter: BigInt(NOW_S) }, AFTER],
    ['never valid', { validAfter: 2n ** 256n - 1n }, AFTER],
    ['at the gateway for a minute', { ...week, validBefore: BigInt(NOW_S + 300) }, BEFORE],
    ['at the gateway for a second less than a week', { ...week, validBefore: week.validBefore - 1n }, BEFORE],
    ['at the gateway for more than thirty days', { ...week, validBefore: BigInt(NOW_S + 2_592_001) }, BEFORE],
  ])('may not be %s', async (_, change, reason) => {
    const verified = await verify(await presentedBy(anAuthorization(payer, change)))
    expect(() => requireValidity(verified, now)).toThrow(
      expect.objectContaining({ code: 'payment_refused', details: { reason } }),
    )
  })
})
