import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { ServiceError } from '../../../contracts/errors.ts'
import { createNodeClient, type NodeOptions } from '../chain/node-client.ts'
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

/**
 * The wallet that refunds are paid from. It signs authorizations, which the settler's wallet brings to the chain, so it
 * needs USDC and no gas.
 */
export interface RefundWallet {
  /** In lower case. */
  readonly address: Hex
  /** Millionths of a USDC. @throws ServiceError `payments_unavailable` */
  balance(): Promise<bigint>
  /** 65 bytes. */
  sign(terms: RefundTerms): Promise<Hex>
}

/**
 * @throws ServiceError `config_invalid` for a key that is none
 * @example createRefundWallet({ on: BASE, rpcUrl: 'http://127.0.0.1:8545', privateKey: '0x…' }).address
 */
export function createRefundWallet({
  privateKey,
  ...options
}: NodeOptions & { readonly privateKey: string }): RefundWallet {
  const account = accountOf(privateKey)
  const node = createNodeClient(options)
  return {
    address: account.address.toLowerCase() as Hex,
    balance: () =>
      node.ask('the balance of the refund wallet', (client) =>
        client.readContract({
          address: node.on.usdc,
          abi: tokenAbi,
          functionName: 'balanceOf',
          args: [account.address],
        }),
      ),
    sign: ({ to, value, validBefore, nonce }) =>
      account.signTypedData({
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
      }),
  }
}

function accountOf(privateKey: string) {
  try {
    return privateKeyToAccount(privateKey as Hex)
  } catch {
    // What it throws may repeat the key.
    throw new ServiceError('config_invalid', {
      message:
        'X402_REFUND_KEY is not a private key: it must be 0x and 64 hexadecimal digits, not zero and below the order of the curve',
    })
  }
}
