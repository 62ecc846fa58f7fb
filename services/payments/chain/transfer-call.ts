import { encodeFunctionData } from 'viem'
import { assert } from '../../../contracts/assert.ts'
import type { PaymentChain } from '../../../contracts/chain.ts'
import type { SignedAuthorization } from './chain.ts'
import { MULTICALL_ADDRESS, multicallAbi, tokenAbi } from './token-abi.ts'

/** A call of a contract. */
export interface ContractCall {
  readonly to: `0x${string}`
  readonly data: `0x${string}`
}

/** The call that makes an authorization a transfer: of the overload that every version 2 of the token has. */
export function transferCall(authorization: SignedAuthorization, { usdc }: PaymentChain): ContractCall {
  const { payer, payTo, value, validAfter, validBefore, nonce, signature } = authorization
  assert(signature.length === 132, 'an authorization that is sent is signed with 65 bytes', signature.length)
  const [r, s] = [`0x${signature.slice(2, 66)}`, `0x${signature.slice(66, 130)}`] as const
  const v = Number.parseInt(signature.slice(130, 132), 16)
  const data = encodeFunctionData({
    abi: tokenAbi,
    functionName: 'transferWithAuthorization',
    args: [payer, payTo, value, validAfter, validBefore, nonce, v, r, s],
  })
  return { to: usdc, data }
}

/** One call for several authorizations; one that the token refuses leaves the others as they are. */
export function transfersCall(
  authorizations: readonly SignedAuthorization[],
  on: PaymentChain,
): ContractCall {
  const [first] = authorizations
  assert(first !== undefined, 'a transaction carries an authorization')
  if (authorizations.length === 1) return transferCall(first, on)
  const calls = authorizations.map((authorization) => {
    const { to, data } = transferCall(authorization, on)
    return { target: to, allowFailure: true, callData: data }
  })
  return {
    to: MULTICALL_ADDRESS,
    data: encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [calls] }),
  }
}
