import type { ServiceEvent } from '../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { CreditReason, RefundCause } from '../../contracts/refund-events.ts'
import type { PaymentState } from '../../contracts/service-block.ts'

/** A payment as its events tell it, without signature and answer. */
export interface Payment extends JsonObject {
  readonly paymentId: string
  readonly stream: string
  readonly state: PaymentState
  readonly rail: 'direct' | 'gateway'
  readonly product: string
  readonly payer: string
  /** Millionths of a USDC. */
  readonly value: string
  readonly accountId: string | null
  readonly isServedFirst: boolean
  /** Unix seconds. */
  readonly validBeforeS: number
  /** Unix milliseconds. */
  readonly claimedAtMs: number
  /** When the newest event was recorded, Unix milliseconds. */
  readonly changedAtMs: number
  /** How often settling was begun. */
  readonly attempts: number
  /** The transaction that is being sent, or that settled it. */
  readonly transaction: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  /** Why the newest attempt came to nothing, or why nothing ever will. */
  readonly reason: string | null
  /** Sent back so far, millionths of a USDC. */
  readonly refunded: string
  /** Whether it is the transfer of a refund: its payer is the refund wallet then. */
  readonly isRefund: boolean
  /** Whether the answer could ever leave, so that somebody may have it. */
  readonly wasServable: boolean
  /** Whether an attempt ever came to nothing through the payer. */
  readonly wasRefused: boolean
  /** When the service last failed to give the answer, Unix milliseconds, and by which code; null where it did not. */
  readonly withheldAt: number | null
  readonly withheldBy: string | null
  /** Whether the answer was asked for again, and given. */
  readonly isGiven: boolean
  /** The automatic refund; null when there is none. */
  readonly refund: PaymentRefund | null
}

/** State of an automatic refund. */
export interface PaymentRefund extends JsonObject {
  readonly by: 'transfer' | 'credit'
  readonly cause: RefundCause
  /** Why it is a credit; null for a transfer. */
  readonly why: CreditReason | null
  /** Millionths of a USDC. */
  readonly value: string
  /** When it was begun, Unix milliseconds. */
  readonly begunAt: number
  /** Whether the money has come, for good, or the credit is there. */
  readonly isDone: boolean
  /** Transaction of the transfer, once it is final. */
  readonly transaction: string | null
}

/** A payment of which nothing has become yet: not settled, nothing withheld, nothing given back. */
export const JUST_CLAIMED = {
  state: 'owed',
  attempts: 0,
  transaction: null,
  blockNumber: null,
  blockHash: null,
  reason: null,
  refunded: '0',
  isRefund: false,
  wasServable: false,
  wasRefused: false,
  withheldAt: null,
  withheldBy: null,
  isGiven: false,
  refund: null,
} as const

/** States in which the settler has something left to do. */
export const isOpen = ({ state }: Payment): boolean =>
  state !== 'final' && state !== 'uncollectable' && state !== 'refunded' && state !== 'credited'

/** Claimed, and the money neither there nor known to be lost. */
export const isAwaited = ({ state }: Payment): boolean =>
  state === 'owed' || state === 'settling' || state === 'broadcast' || state === 'unknown'

/** Served, and the money not there. */
export const isUnsettled = (payment: Payment): boolean => payment.isServedFirst && isAwaited(payment)

/** Not served before its money is there, and that has not come. */
export const isWaiting = (payment: Payment): boolean => !payment.isServedFirst && isAwaited(payment)

/** How the reason of an attempt begins that came to nothing through the payer: nothing that we do would help. */
const REFUSALS = /^(?:insufficient_funds|blacklisted|contract_account|refused: |other: )/

/** Whether an attempt came to nothing because the token, or a facilitator, would not take the authorization. */
export const isRefusal = (reason: string | null): boolean => reason !== null && REFUSALS.test(reason)

/** Its money has not come, and nothing is known that is in its way: that it waits is our doing. */
export const isPayable = (payment: Payment): boolean =>
  isAwaited(payment) && !(payment.state === 'owed' && isRefusal(payment.reason))

/** Served, and the money never comes. */
export const isDebt = ({ state, isServedFirst }: Payment): boolean =>
  isServedFirst && state === 'uncollectable'

/** Whether something of it may have to be given back, or is being given back. */
export const isRefundOpen = ({ refund, withheldAt, isGiven, wasRefused, state }: Payment): boolean => {
  if (refund !== null) return !refund.isDone
  const isOver = state === 'uncollectable' || state === 'refunded' || state === 'credited'
  return withheldAt !== null && !isGiven && !wasRefused && !isOver
}

/** Whether the answer of a payment may leave. */
export const isServable = ({ state, isServedFirst }: Payment): boolean =>
  isServedFirst || state === 'confirmed' || state === 'final' || state === 'refunded' || state === 'credited'

/**
 * The payment after an event of its stream; undefined before its claim, and for events of other streams. Events after a
 * wrong end still count: a payment that was given up as uncollectable may turn out to be paid.
 */
export function evolvePayment(payment: Payment | undefined, event: ServiceEvent): Payment | undefined {
  const changedAtMs = Date.parse(event.at)
  if (event.type === 'PaymentClaimed') {
    const { paymentId, rail, product, payer, value, accountId, isServedFirst, validBefore } = event.data
    return {
      ...JUST_CLAIMED,
      paymentId,
      rail,
      product,
      payer,
      value,
      accountId,
      isServedFirst,
      validBeforeS: validBefore,
      stream: event.stream,
      claimedAtMs: changedAtMs,
      changedAtMs,
      wasServable: isServedFirst,
    }
  }
  if (event.type === 'RefundAuthorised') return transferOf(event, changedAtMs)
  if (payment === undefined) return undefined
  const change = changeBy(event, payment)
  return change && { ...payment, ...change, changedAtMs }
}

/** The transfer of a refund is settled as a payment is, in a stream of its own. */
function transferOf(event: Extract<ServiceEvent, { type: 'RefundAuthorised' }>, at: number): Payment {
  const { paymentId, from, value, validBefore } = event.data
  return {
    ...JUST_CLAIMED,
    paymentId,
    stream: event.stream,
    rail: 'direct',
    product: 'refund',
    payer: from,
    value,
    accountId: null,
    isServedFirst: false,
    validBeforeS: validBefore,
    claimedAtMs: at,
    changedAtMs: at,
    isRefund: true,
  }
}

function changeBy(event: ServiceEvent, payment: Payment): Partial<Payment> | undefined {
  switch (event.type) {
    case 'SettlementRequested':
      return { state: 'settling', attempts: event.data.attempt, transaction: null, reason: null }
    case 'SettlementBroadcast':
      return { state: 'broadcast', transaction: event.data.transaction }
    case 'SettlementFailed':
      return {
        state: 'owed',
        transaction: null,
        reason: event.data.reason,
        wasRefused: payment.wasRefused || isRefusal(event.data.reason),
      }
    case 'SettlementUnknown':
      return { state: 'unknown', reason: event.data.reason }
    case 'SettlementConfirmed': {
      const { transaction, blockNumber, blockHash } = event.data
      return { state: 'confirmed', transaction, blockNumber, blockHash, reason: null, wasServable: true }
    }
    case 'SettlementFinalised':
      return { state: 'final', transaction: event.data.transaction }
    case 'SettlementReorged':
      return { state: 'owed', transaction: null, blockNumber: null, blockHash: null, reason: 'reorged' }
    case 'PaymentUncollectable':
      return { state: 'uncollectable', reason: event.data.reason }
    case 'RefundSent': {
      const refunded = BigInt(payment.refunded) + BigInt(event.data.value)
      const isAll = refunded >= BigInt(payment.value)
      const { transaction } = event.data
      const { refund } = payment
      const isOwn = refund?.by === 'transfer' && refund.value === event.data.value
      return {
        refunded: refunded.toString(),
        ...(isAll && { state: 'refunded' as const }),
        ...(isOwn && { refund: { ...refund, isDone: true, transaction } }),
      }
    }
    case 'AnswerWithheld':
      return { withheldAt: Date.parse(event.at), withheldBy: event.data.code }
    case 'AnswerGiven':
      return { isGiven: true }
    case 'RefundBegun': {
      const { by, value, cause, why } = event.data
      const refund = {
        by,
        value,
        cause,
        why,
        begunAt: Date.parse(event.at),
        isDone: false,
        transaction: null,
      }
      return { refund }
    }
    case 'CreditGiven':
      return payment.refund === null
        ? undefined
        : { state: 'refunded', refund: { ...payment.refund, isDone: true } }
    case 'CreditApplied':
      return { state: 'credited', wasServable: true }
    default:
      return undefined
  }
}
