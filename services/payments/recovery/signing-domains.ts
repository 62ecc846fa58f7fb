import { GATEWAY_DOMAIN, type PaymentChain } from '../../../contracts/chain.ts'
import type { Rail } from '../../../contracts/payment-events.ts'

/** The domain of a signature (EIP-712). */
export interface SigningDomain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: `0x${string}`
}

/** Ours, never a client's: a signature under any other domain brings no money. */
export const signingDomain = (rail: Rail, { id, usdc, domain, gateway }: PaymentChain): SigningDomain =>
  rail === 'gateway' && gateway !== undefined
    ? { ...GATEWAY_DOMAIN, chainId: id, verifyingContract: gateway }
    : { ...domain, chainId: id, verifyingContract: usdc }

/** The contract that a rail's signatures are for, in lower case, as streams and events name it. */
export const contractOf = (rail: Rail, on: PaymentChain): string =>
  signingDomain(rail, on).verifyingContract.toLowerCase()
