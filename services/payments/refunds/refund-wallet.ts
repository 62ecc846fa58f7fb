import type { Hex } from 'viem'
import { assert } from '../../../contracts/assert.ts'
import { createNodeClient, keyAccount, type NodeOptions } from '../chain/node-client.ts'
import { tokenAbi } from '../chain/token-abi.ts'
import { signingDomain } from '../recovery/signing-domains.ts'
import { AUTHORIZATION_TYPES } from '../recovery/viem-recovery.ts'

/** A transfer out of the refund wallet that is to be signed. */
export interface RefundTerms {
  readonly to: Hex
  /** Millionths of a USDC. */
  readonly value: bigint
  /** Unix seconds. */
  readonly validBefore: number
  readonly nonce: Hex
}

export type RefundWallet = ReturnType<typeof createRefundWallet>

/**
 * The wallet that refunds are paid from. It signs authorizations, which the settler's wallet brings to the chain, so it
 * needs USDC and no gas.
 *
 * @throws ServiceError `config_invalid` for a key that is none
 */
export function createRefundWallet({
  privateKey,
  ...options
}: NodeOptions & { readonly privateKey: string }) {
  const account = keyAccount(privateKey, 'X402_REFUND_KEY')
  const node = createNodeClient(options)
  return {
    /** In lower case. */
    address: account.address.toLowerCase() as Hex,
    /** Millionths of a USDC. @throws ServiceError `payments_unavailable` */
    balance: () =>
      node.ask('the balance of the refund wallet', (client) =>
        client.readContract({
          address: node.on.usdc,
          abi: tokenAbi,
          functionName: 'balanceOf',
          args: [account.address],
        }),
      ),
    /** 65 bytes. */
    async sign({ to, value, validBefore, nonce }: RefundTerms) {
      assert(value > 0n, 'a refund that is signed is over more than nothing', value)
      return account.signTypedData({
        domain: signingDomain('direct', node.on),
        types: AUTHORIZATION_TYPES,
        primaryType: 'TransferWithAuthorization',
        message: {
          from: account.address,
          to,
          value,
          validAfter: 0n,
          validBefore: BigInt(validBefore),
          nonce,
        },
      })
    },
  }
}
