import type { Rail } from '../../../contracts/payment-events.ts'

/** What is at stake before a claim. All amounts are millionths of a USDC. */
export interface Exposure {
  /** Served to this payer and not settled, what is being claimed included. */
  readonly payer: bigint
  /** Served to this payer and never paid. */
  readonly debt: bigint
  /** Served to all payers and not settled, what is being claimed included. */
  readonly total: bigint
}

export interface ClaimTerms {
  readonly rail: Rail
  readonly value: bigint
  readonly mustSettleFirst: boolean
  /** What the payer has on the chain; undefined where nobody knows. */
  readonly balance: bigint | undefined
}

export interface ClaimCaps {
  /** What one payer may have claimed and not settled; beyond it answers wait for their money. */
  readonly payer: bigint
  /** The same of all payers together; beyond it nothing is taken. */
  readonly total: bigint
}

export type ClaimDecision =
  | { readonly kind: 'take'; readonly isServedFirst: boolean }
  | { readonly kind: 'refuse' }

/**
 * Whether an answer may leave before its money is there. A payer is trusted as far as its balance and its cap reach,
 * and not at all while it has a debt. The gateway's rail is settled first: only what it has settled is guaranteed.
 * It is no part of what all payers owe, so the cap of that does not stop it.
 */
export function decideClaim(exposure: Exposure, terms: ClaimTerms, caps: ClaimCaps): ClaimDecision {
  const { rail, value, mustSettleFirst, balance } = terms
  const owed = exposure.payer + value
  const isServedFirst =
    rail === 'direct' &&
    !mustSettleFirst &&
    exposure.debt === 0n &&
    owed <= caps.payer &&
    (balance === undefined || owed <= balance)
  const total = exposure.total + (isServedFirst ? value : 0n)
  return rail === 'direct' && total > caps.total ? { kind: 'refuse' } : { kind: 'take', isServedFirst }
}
