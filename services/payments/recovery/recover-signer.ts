import type { PaymentChain } from '../../../contracts/chain.ts'
import type { Rail } from '../../../contracts/payment-events.ts'

/** The signed message: the `TransferWithAuthorization` of ERC-3009, under the domain of its rail. */
export interface Authorization {
  readonly on: PaymentChain
  readonly rail: Rail
  readonly payer: `0x${string}`
  readonly payTo: `0x${string}`
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes. */
  readonly nonce: `0x${string}`
}

/** Finds out who signed. */
export interface RecoverSigner {
  /** `native`: libsecp256k1. `viem`: slower by an order of magnitude, and always there. */
  readonly name: 'native' | 'viem'
  /**
   * The address whose key made a signature over an authorization. It tells nothing about whether the token would
   * take that signature: a high s, and a v of 0 or 1, are recovered too.
   *
   * @param signature 65 bytes in hexadecimal: r, s, v
   * @returns in lower case; undefined where no key can have made it
   */
  recover(authorization: Authorization, signature: `0x${string}`): Promise<`0x${string}` | undefined>
}
