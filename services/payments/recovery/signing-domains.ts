import { BASE, GATEWAY_ADDRESS, GATEWAY_DOMAIN, USDC_DOMAIN } from '../../../contracts/chain.ts'
import type { Rail } from '../../../contracts/payment-events.ts'

/** What a signature is bound to (EIP-712). */
export interface SigningDomain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: `0x${string}`
}

/** Ours, never a client's: a signature under any other domain brings no money. */
export const SIGNING_DOMAINS: Readonly<Record<Rail, SigningDomain>> = {
  direct: { ...USDC_DOMAIN, chainId: BASE.id, verifyingContract: BASE.usdc },
  gateway: { ...GATEWAY_DOMAIN, chainId: BASE.id, verifyingContract: GATEWAY_ADDRESS },
}

/** The contract that a rail's signatures are for, in lower case, as streams and events name it. */
export const contractOf = (rail: Rail): string => SIGNING_DOMAINS[rail].verifyingContract.toLowerCase()
