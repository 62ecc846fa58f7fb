import { randomBytes } from 'node:crypto'
import { encodeFunctionData, type Hex, type PrivateKeyAccount } from 'viem'
import { BASE, GATEWAY_ADDRESS, GATEWAY_DOMAIN, USDC_DOMAIN } from '../../../../contracts/chain.ts'
import type { SignedAuthorization } from '../../chain/chain.ts'
import { AUTHORIZATION_TYPES } from '../../recovery/viem-recovery.ts'
import { cancelAbi } from './test-chain.ts'

export interface AuthorizationTerms {
  readonly payTo: Hex
  readonly value: bigint
  readonly validAfter?: bigint
  readonly validBefore: bigint
  readonly nonce?: Hex
  readonly rail?: 'direct' | 'gateway'
}

export const randomNonce = (): Hex => `0x${randomBytes(32).toString('hex')}`

/** What a payer's wallet signs for an offer. */
export async function signAuthorization(
  payer: PrivateKeyAccount,
  { payTo, value, validAfter = 0n, validBefore, nonce = randomNonce(), rail = 'direct' }: AuthorizationTerms,
): Promise<SignedAuthorization> {
  const isGateway = rail === 'gateway'
  const signature = await payer.signTypedData({
    domain: {
      ...(isGateway ? GATEWAY_DOMAIN : USDC_DOMAIN),
      chainId: BASE.id,
      verifyingContract: isGateway ? GATEWAY_ADDRESS : BASE.usdc,
    },
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { from: payer.address, to: payTo, value, validAfter, validBefore, nonce },
  })
  const address = payer.address.toLowerCase() as Hex
  return { payer: address, payTo, value, validAfter, validBefore, nonce, signature }
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
    domain: { ...USDC_DOMAIN, chainId: BASE.id, verifyingContract: BASE.usdc },
    types: CANCEL_TYPES,
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce },
  })
  const args = [payer.address, nonce, signature] as const
  const data = encodeFunctionData({ abi: cancelAbi, functionName: 'cancelAuthorization', args })
  return { to: BASE.usdc, data }
}
