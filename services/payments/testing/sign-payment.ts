import { privateKeyToAccount } from 'viem/accounts'
import { BASE } from '../../../contracts/domain/chain.ts'
import { AUTHORIZATION_TYPES, type Authorization, signingDomain } from '../verification/recover-signer.ts'

/** Whom payments of tests are for. */
export const PAY_TO = '0x2222222222222222222222222222222222222222'

/** A payer of tests, of any number but zero. */
export const payerNumber = (number: number | bigint) =>
  privateKeyToAccount(`0x${number.toString(16).padStart(64, '0')}`)
export type TestPayer = ReturnType<typeof payerNumber>

/** 32 bytes that tell tests' authorizations apart. */
export const nonceNumber = (number: number | bigint): `0x${string}` =>
  `0x${number.toString(16).padStart(64, '0')}`

/** Wall clock of tests, Unix seconds. */
export const NOW_S = 1_800_000_000

export const anAuthorization = (
  payer: TestPayer,
  change: Partial<Omit<Authorization, 'payer'>> = {},
): Authorization => ({
  on: BASE,
  rail: 'direct',
  payer: payer.address.toLowerCase() as `0x${string}`,
  payTo: PAY_TO,
  value: 20_000n,
  validAfter: 0n,
  validBefore: BigInt(NOW_S + 300),
  nonce: nonceNumber(1),
  ...change,
})

export const signAuthorization = (payer: TestPayer, authorization: Authorization): Promise<`0x${string}`> =>
  payer.signTypedData({
    domain: signingDomain(authorization.rail, authorization.on),
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { ...authorization, from: authorization.payer, to: authorization.payTo },
  })

/** The members of a payment as both versions carry them. */
export const payloadOf = (authorization: Authorization, signature: string) => ({
  signature,
  authorization: {
    from: authorization.payer,
    to: authorization.payTo,
    value: String(authorization.value),
    validAfter: String(authorization.validAfter),
    validBefore: String(authorization.validBefore),
    nonce: authorization.nonce,
  },
})

/** A payment as version 1 sends it, before it is encoded. */
export const paymentV1 = (authorization: Authorization, signature: string) => ({
  x402Version: 1,
  scheme: 'exact',
  network: BASE.networkV1,
  payload: payloadOf(authorization, signature),
})

/** A payment as version 2 sends it, before it is encoded. */
export const paymentV2 = (authorization: Authorization, signature: string) => ({
  x402Version: 2,
  accepted: {
    scheme: 'exact',
    network: authorization.on.network,
    amount: String(authorization.value),
    asset: authorization.on.usdc,
    payTo: authorization.payTo,
    maxTimeoutSeconds: 300,
    extra: { ...signingDomain(authorization.rail, authorization.on) },
  },
  payload: payloadOf(authorization, signature),
})

export const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
