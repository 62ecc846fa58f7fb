import type { CreditReason, RefundCause } from '../../../contracts/refund-events.ts'
import type { Payment } from '../state/payment-state.ts'

/** A payment that may have to be given back, and the transfer that does so; undefined before there is one. */
export interface RefundFacts {
  readonly payment: Payment
  readonly transfer: Payment | undefined
}

export interface RefundWaits {
  /** How long an answer may be asked for again first, milliseconds. */
  readonly afterMs: number
  /** How long after the end of a transfer's authorization nothing of it can arrive any more, milliseconds. */
  readonly graceMs: number
}

/** The next step of a refund. */
export type RefundStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait' }
  /** Millionths of a USDC. */
  | { readonly kind: 'begin'; readonly value: bigint; readonly cause: RefundCause }
  /** Begun, and the transfer is not signed. */
  | { readonly kind: 'authorise'; readonly value: bigint }
  | { readonly kind: 'sent'; readonly transaction: string; readonly value: bigint }
  /** The transfer can never arrive. */
  | { readonly kind: 'credit'; readonly value: bigint; readonly cause: RefundCause }
  | { readonly kind: 'giveCredit'; readonly value: bigint }

/**
 * Decides the next step for a payment that may have to be given back. Only a final payment is given back: before, a
 * reorganisation of the chain would make the refund a gift. A payer who delayed the payment itself is owed nothing.
 *
 * @param now Unix milliseconds
 */
export function decideRefundStep(
  { payment, transfer }: RefundFacts,
  now: number,
  { afterMs, graceMs }: RefundWaits,
): RefundStep {
  const { refund, withheldAt, isGiven, wasRefused, state, accountId } = payment
  if (refund?.isDone === true) return { kind: 'nothing' }
  if (refund?.by === 'credit') return { kind: 'giveCredit', value: BigInt(refund.value) }
  if (refund !== null) {
    const value = BigInt(refund.value)
    if (transfer === undefined) return { kind: 'authorise', value }
    if (transfer.state === 'final') return { kind: 'sent', transaction: transfer.transaction ?? '', value }
    const isOver = now >= transfer.validBeforeS * 1_000 + graceMs
    return transfer.state === 'uncollectable' && isOver
      ? { kind: 'credit', value, cause: refund.cause }
      : { kind: 'wait' }
  }
  const left = BigInt(payment.value) - BigInt(payment.refunded)
  if (withheldAt === null || isGiven || wasRefused || left <= 0n) return { kind: 'nothing' }
  if (state === 'uncollectable' || state === 'credited') return { kind: 'nothing' }
  if (state !== 'final') return { kind: 'wait' }
  // A plan that has not begun never will: there is nothing to ask for again.
  if (accountId !== null) return { kind: 'begin', value: left, cause: 'plan_not_begun' }
  return now - withheldAt >= afterMs
    ? { kind: 'begin', value: left, cause: 'answer_not_given' }
    : { kind: 'wait' }
}

/** The means of refunds; amounts are millionths of a USDC. */
export interface RefundPurse {
  /** Balance of the refund wallet; undefined if there is none. */
  readonly balance: bigint | undefined
  /** Transfers from it that are on their way. */
  readonly promised: bigint
  /** Transfers that have their place in this UTC day. */
  readonly allotted: bigint
  /** X402_REFUND_DAILY_CAP. */
  readonly cap: bigint
}

/** How something is given back: as a transfer, or why as a credit. */
export function decideRefundWay(
  value: bigint,
  { balance, promised, allotted, cap }: RefundPurse,
): 'transfer' | Exclude<CreditReason, 'not_sent'> {
  if (balance === undefined) return 'no_wallet'
  if (balance - promised < value) return 'wallet_empty'
  return allotted + value > cap ? 'daily_cap' : 'transfer'
}
