import type { SettlerKind, UncollectableReason } from '../../../contracts/events/payment-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AuthorizationOutcome } from '../chain/chain.ts'
import type { LoadedPayment } from '../payment.ts'

/** A payment that is to be settled, as the log has it. */
export type SettlementInput = Pick<LoadedPayment, 'lastReason' | 'wasInDoubt'> & {
  readonly payment: Pick<
    LoadedPayment['payment'],
    'attempts' | 'changedAtMs' | 'state' | 'transaction' | 'validBeforeS'
  >
  readonly authorization: Pick<LoadedPayment['authorization'], 'validAfter' | 'validBefore'>
}

/** The same payment, as the chain has it now. */
export interface ChainView {
  /** Unix seconds. */
  readonly blockTime: number
  readonly outcome: AuthorizationOutcome
}

/** The money that has come, and where from. */
export interface Arrival {
  readonly transaction: string
  /** Both null on the gateway rail. */
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly by: SettlerKind | 'other'
}

export type SettlementStep =
  | { readonly kind: 'confirm'; readonly arrival: Arrival }
  | { readonly kind: 'uncollectable'; readonly reason: UncollectableReason; readonly detail: string }
  /** The facilitator is to be asked. */
  | { readonly kind: 'request' }
  | { readonly kind: 'wait' }

/** Whether an earlier request may have moved the money: it had no clear answer, or none that was recorded. */
export const isInDoubt = ({ wasInDoubt, payment }: SettlementInput): boolean =>
  wasInDoubt || payment.state !== 'owed'

/**
 * Decides the next step of a payment on the direct rail. The token's logs decide whether it is paid; nothing that a
 * facilitator says does. It is given up only once its authorization has ended unused.
 *
 * @param now Unix milliseconds
 * @param pendingMs how long a transaction that the facilitator named is waited for before it is asked again
 */
export function decideSettlement(
  { payment, authorization, lastReason }: SettlementInput,
  { blockTime, outcome }: ChainView,
  { now, pendingMs }: { readonly now: number; readonly pendingMs: number },
): SettlementStep {
  const { validAfter, validBefore } = authorization
  if (outcome.kind === 'paid') {
    const { transaction, blockNumber, blockHash } = outcome
    const by = payment.attempts > 0 ? 'facilitator' : 'other'
    return { kind: 'confirm', arrival: { transaction, blockNumber, blockHash, by } }
  }
  if (outcome.kind === 'cancelled') {
    const detail = `used in transaction ${outcome.transaction}, which brought us nothing`
    return { kind: 'uncollectable', reason: 'cancelled', detail }
  }
  // What no block of this time has used cannot be used any more. The node that told the time and the one that told of
  // the authorization may be two, of which the second lags.
  if (BigInt(blockTime) >= validBefore + BigInt(LIMITS.paymentExpiryGraceS))
    return unpaid(
      lastReason,
      `unused when it ended at ${new Date(Number(validBefore) * 1_000).toISOString()}`,
    )
  if (BigInt(blockTime) >= validBefore || BigInt(blockTime) <= validAfter) return { kind: 'wait' }
  const isPending = payment.state === 'broadcast' && now - payment.changedAtMs < pendingMs
  return { kind: isPending ? 'wait' : 'request' }
}

/**
 * Decides the next step of a payment on the gateway rail, whose ledger alone tells whether it is paid. This machine's
 * clock decides when an authorization has ended.
 *
 * @param transfer the gateway's name of the transfer, if an earlier request is in doubt and it shows one
 */
export function decideGatewaySettlement(
  input: SettlementInput,
  transfer: string | undefined,
  now: number,
): SettlementStep {
  const { payment, authorization, lastReason } = input
  if (transfer !== undefined) return { kind: 'confirm', arrival: creditedBy(transfer) }
  if (now <= Number(authorization.validAfter) * 1_000) return { kind: 'wait' }
  if (now < payment.validBeforeS * 1_000 + LIMITS.facilitatorGraceMs) return { kind: 'request' }
  if (!isInDoubt(input)) return unpaid(lastReason, 'refused until it ended')
  const detail = `ended without a clear answer; look it up by hand. The newest: ${lastReason ?? 'none'}`
  return { kind: 'uncollectable', reason: 'unclear', detail }
}

/** Money in the ledger of the gateway. */
export const creditedBy = (transaction: string): Arrival => ({
  transaction,
  blockNumber: null,
  blockHash: null,
  by: 'gateway',
})

function unpaid(lastReason: string | null, ended: string): SettlementStep {
  const reason = lastReason === 'insufficient_funds' ? 'insufficient_funds' : 'expired'
  const detail = lastReason === null ? ended : `${ended}; the newest attempt: ${lastReason}`
  return { kind: 'uncollectable', reason, detail }
}
