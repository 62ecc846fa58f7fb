import type { Rail } from '../../../contracts/events/payment-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** The amounts at stake before a claim, in millionths of a USDC. */
export interface Exposure {
  /** Served to this payer and not settled, what is being claimed included. */
  readonly payer: bigint
  /** Claimed by this payer on the direct rail and not settled, served or not, what is being claimed included. */
  readonly awaited: bigint
  /** Served to this payer and never paid. */
  readonly debt: bigint
  /** Served to all payers and not settled, what is being claimed included. */
  readonly total: bigint
  /** Claims on the rail that wait for their money before they are answered: of this payer, and of all. */
  readonly waiting: number
  readonly waitingOfAll: number
}

/** A payer's funds on the chain. */
export interface KnownFunds {
  readonly balance: bigint
  /** Whether it has no more than that: a facilitator only says that it has enough for one payment. */
  readonly isAll: boolean
}

export interface ClaimTerms {
  readonly rail: Rail
  readonly value: bigint
  readonly mustSettleFirst: boolean
  /** Undefined where nobody knows. */
  readonly funds: KnownFunds | undefined
}

export interface ClaimCaps {
  /** Claims of one payer that may be unsettled; beyond the cap, answers wait for their money. */
  readonly payer: bigint
  /** The same of all payers together. */
  readonly total: bigint
}

export type ClaimDecision =
  | { readonly kind: 'take'; readonly isServedFirst: boolean }
  /** @param why the payer has promised its money already; or as many claims wait for theirs as may, of it or of all */
  | { readonly kind: 'refuse'; readonly why: 'funds' | 'payer' | 'all' }

/**
 * Whether an answer may leave before its money is there. A payer is trusted as far as its cap and what it is known to
 * have reach, and not at all while it has a debt, or while all payers owe as much as they may. The gateway's rail is
 * settled first: only what it has settled is guaranteed. What is settled first costs no money and some work, so its
 * number is bounded, some of it is left for payers with none, and all that a payer has promised counts against what it has.
 */
export function decideClaim(exposure: Exposure, terms: ClaimTerms, caps: ClaimCaps): ClaimDecision {
  const { rail, value, mustSettleFirst, funds } = terms
  const isCovered = funds !== undefined && exposure.awaited + value <= funds.balance
  if (rail === 'direct' && funds?.isAll === true && !isCovered) return { kind: 'refuse', why: 'funds' }
  const isServedFirst =
    rail === 'direct' &&
    !mustSettleFirst &&
    isCovered &&
    exposure.debt === 0n &&
    exposure.payer + value <= caps.payer &&
    exposure.total + value <= caps.total
  if (isServedFirst) return { kind: 'take', isServedFirst }
  if (exposure.waiting >= LIMITS.claimsWaitingPerPayer) return { kind: 'refuse', why: 'payer' }
  const kept = exposure.waiting === 0 ? 0 : Math.floor(LIMITS.claimsWaiting / LIMITS.placesKeptShare)
  if (exposure.waitingOfAll >= LIMITS.claimsWaiting - kept) return { kind: 'refuse', why: 'all' }
  return { kind: 'take', isServedFirst }
}
