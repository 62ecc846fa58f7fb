import { LIMITS } from '../../../contracts/limits.ts'
import type { SettlerKind, UncollectableReason } from '../../../contracts/payment-events.ts'
import type { AuthorizationOutcome, Rehearsal, TokenRefusal } from '../chain/chain.ts'
import type { Payment } from '../state/payment-state.ts'

/** The log's facts about a payment that is settled on the chain. */
export interface SettlingFacts {
  readonly state: Payment['state']
  /** Unix seconds, both exclusive. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** The newest reason why an attempt came to nothing. */
  readonly lastReason: string | null
  /** Transactions of our own wallet that hold it. */
  readonly broadcasts: readonly string[]
  /** Whether a facilitator was ever asked to settle it. */
  readonly wasForwarded: boolean
  /** Whether the newest transaction has been on its way for so long that it is replaced. */
  readonly isOverdue: boolean
  /** Transactions with it that are in blocks and moved nothing. */
  readonly minedFailures: number
  /** Whether nobody waits for it any more, and nothing that was sent for it can still arrive. */
  readonly isGivenUp: boolean
}

/** The chain's facts about it now. */
export interface ChainView {
  /** Unix seconds. */
  readonly blockTime: number
  readonly outcome: AuthorizationOutcome
  /** The result of a simulated transfer; undefined if nothing is to be sent any more. */
  readonly rehearsal: Rehearsal | undefined
  /** The newest transaction that was sent for it; `missing` also where there is none. */
  readonly transaction: 'missing' | 'pending' | 'mined'
}

/** The money that has come, and where from. */
export interface Arrival {
  readonly transaction: string
  /** Both null where no block is known: on the gateway rail, and where no node is configured. */
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly by: SettlerKind | 'other'
}

export type SettlementStep =
  | { readonly kind: 'confirm'; readonly arrival: Arrival }
  | { readonly kind: 'uncollectable'; readonly reason: UncollectableReason; readonly detail: string }
  | { readonly kind: 'send' }
  /** The token would refuse it now, for a reason that may pass. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** A sent transaction may still arrive, or the authorization is not valid yet. */
  | { readonly kind: 'wait' }

/**
 * Decides the next step of a settlement. The token's logs decide whether a payment is paid; its refusals decide only
 * whether to send now. After a passing refusal (no funds, code in the account, a blacklist) the transfer is simulated
 * again for as long as a request waits for it, and then given up: empty accounts cost nothing, and watching them does.
 *
 * An account with code is never sent for: its code can pass the rehearsal and burn the gas of the transaction.
 */
export function decideSettlement(facts: SettlingFacts, chain: ChainView): SettlementStep {
  const { outcome, blockTime, rehearsal } = chain
  if (outcome.kind === 'paid') {
    const { transaction, blockNumber, blockHash } = outcome
    const by = settledBy(facts, transaction)
    return { kind: 'confirm', arrival: { transaction, blockNumber, blockHash, by } }
  }
  if (outcome.kind === 'cancelled') {
    const detail = `used in transaction ${outcome.transaction}, which brought us nothing`
    return { kind: 'uncollectable', reason: 'cancelled', detail }
  }
  // What was not used by a block of this time cannot be used any more. The node that told the time and the one that
  // told of the authorization may be two, of which the second lags.
  if (BigInt(blockTime) >= facts.validBefore + BigInt(LIMITS.paymentExpiryGraceS)) return atItsEnd(facts)
  if (BigInt(blockTime) >= facts.validBefore) return { kind: 'wait' }
  if (BigInt(blockTime) <= facts.validAfter) return { kind: 'wait' }
  if (chain.transaction === 'pending' && !facts.isOverdue) return { kind: 'wait' }
  if (rehearsal === undefined) return { kind: 'wait' }
  const { refusal, hasCode } = rehearsal
  if (hasCode && refusal?.reason !== 'used') return onRefusal(WITH_CODE, facts)
  if (refusal !== undefined) return onRefusal(refusal, facts)
  if (facts.minedFailures < LIMITS.settlementsMined) return { kind: 'send' }
  const detail = `${facts.minedFailures} transactions with it are in blocks and moved nothing`
  return { kind: 'uncollectable', reason: 'refused', detail }
}

const WITH_CODE: TokenRefusal = { reason: 'contract_account', detail: 'the account has code now' }

function onRefusal({ reason, detail }: TokenRefusal, { isGivenUp }: SettlingFacts): SettlementStep {
  switch (reason) {
    // A block has come between the question and this one; the next look tells which end it is.
    case 'used':
    case 'expired':
    case 'not_yet_valid':
      return { kind: 'wait' }
    // It was checked before it was claimed, so the token differs from the one that it was checked for.
    case 'invalid_signature':
      return { kind: 'uncollectable', reason: 'refused', detail }
    case 'other':
      return isGivenUp
        ? { kind: 'uncollectable', reason: 'refused', detail }
        : { kind: 'refused', reason: `other: ${detail}` }
    default:
      return isGivenUp ? { kind: 'uncollectable', reason, detail } : { kind: 'refused', reason }
  }
}

const PASSING_REASONS = ['insufficient_funds', 'blacklisted', 'contract_account'] as const

function atItsEnd({ lastReason, validBefore }: SettlingFacts): SettlementStep {
  const reason = PASSING_REASONS.find((known) => known === lastReason) ?? 'expired'
  const ended = `unused when it ended at ${new Date(Number(validBefore) * 1_000).toISOString()}`
  const detail = lastReason === null ? ended : `${ended}; the newest attempt: ${lastReason}`
  return { kind: 'uncollectable', reason, detail: detail.slice(0, 200) }
}

const settledBy = (
  { broadcasts, wasForwarded }: SettlingFacts,
  transaction: string,
): SettlerKind | 'other' => {
  if (broadcasts.includes(transaction) && !wasForwarded) return 'own'
  return wasForwarded ? 'facilitator' : 'other'
}

/** A settled payment's state on the way to finality. */
export type Finality = 'final' | 'reorged' | 'wait'

/**
 * @param hashNow of the block that has the payment's number now; undefined where the node has none (yet), which a
 *   node that lags behind may say as well
 */
export function decideFinality(
  settled: { readonly blockNumber: number; readonly blockHash: string },
  hashNow: string | undefined,
  finalBlock: number,
): Finality {
  if (hashNow === undefined) return 'wait'
  if (hashNow !== settled.blockHash) return 'reorged'
  return finalBlock >= settled.blockNumber ? 'final' : 'wait'
}
