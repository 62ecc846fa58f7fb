import { randomBytes } from 'node:crypto'
import { encodeFunctionData, type Hex, type PrivateKeyAccount, parseAbi, parseSignature } from 'viem'
import { BASE, type PaymentChain } from '../../../../contracts/domain/chain.ts'
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

const transferAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])

/** The call by which anybody makes an authorization a transfer. */
export function transferCall({
  payer,
  payTo,
  value,
  validAfter,
  validBefore,
  nonce,
  signature,
}: SignedAuthorization): { readonly to: Hex; readonly data: Hex } {
  const { r, s, v = 27n } = parseSignature(signature)
  const args = [payer, payTo, value, validAfter, validBefore, nonce, Number(v), r, s] as const
  const data = encodeFunctionData({ abi: transferAbi, functionName: 'transferWithAuthorization', args })
  return { to: BASE.usdc, data }
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
