import { randomBytes } from 'node:crypto'
import { encodeFunctionData, type Hex, type PrivateKeyAccount } from 'viem'
import { BASE, type PaymentChain } from '../../../../contracts/chain.ts'
import type { SignedAuthorization } from '../../chain/chain.ts'
import { AUTHORIZATION_TYPES, signingDomain } from '../../verification/recover-signer.ts'
import { cancelAbi } from './test-chain.ts'

export interface AuthorizationTerms {
  /** Base where it is left out. */
  readonly on?: PaymentChain
  readonly payTo: Hex
  readonly value: bigint
  readonly validAfter?: bigint
  readonly validBefore: bigint
  readonly nonce?: Hex
  readonly rail?: 'direct' | 'gateway'
}

export const randomNonce = (): Hex => `0x${randomBytes(32).toString('hex')}`

/** The text that a payer's wallet signs for an offer. */
export async function signAuthorization(
  payer: PrivateKeyAccount,
  terms: AuthorizationTerms,
): Promise<SignedAuthorization & { readonly on: PaymentChain }> {
  const {
    on = BASE,
    payTo,
    value,
    validAfter = 0n,
    validBefore,
    nonce = randomNonce(),
    rail = 'direct',
  } = terms
  const signature = await payer.signTypedData({
    domain: signingDomain(rail, on),
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { from: payer.address, to: payTo, value, validAfter, validBefore, nonce },
  })
  const address = payer.address.toLowerCase() as Hex
  return { on, payer: address, payTo, value, validAfter, validBefore, nonce, signature }
}

const CANCEL_TYPES = {
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The call by which a payer takes an authorization back. */
export async function cancelCall(
  payer: PrivateKeyAccount,
  nonce: Hex,
): Promise<{ readonly to: Hex; readonly data: Hex }> {
  const signature = await payer.signTypedData({
    domain: { ...BASE.domain, chainId: BASE.id, verifyingContract: BASE.usdc },
    types: CANCEL_TYPES,
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce },
  })
  const args = [payer.address, nonce, signature] as const
  const data = encodeFunctionData({ abi: cancelAbi, functionName: 'cancelAuthorization', args })
  return { to: BASE.usdc, data }
}
