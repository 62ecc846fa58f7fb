import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { PaymentState } from '../../../contracts/service-block.ts'

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
}

/** A payment of which nothing has become yet: not settled, nothing given back. */
export const JUST_CLAIMED = {
  state: 'owed',
  attempts: 0,
  transaction: null,
  blockNumber: null,
  blockHash: null,
  reason: null,
  refunded: '0',
} as const

/** States in which the settler has something left to do. */
export const isOpen = ({ state }: Payment): boolean =>
  state !== 'final' && state !== 'uncollectable' && state !== 'refunded'

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

/** Whether the answer of a payment may leave. */
export const isServable = ({ state, isServedFirst }: Payment): boolean =>
  isServedFirst || state === 'confirmed' || state === 'final' || state === 'refunded'

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
    }
  }
  if (payment === undefined) return undefined
  const change = changeBy(event, payment)
  return change && { ...payment, ...change, changedAtMs }
}

function changeBy(event: ServiceEvent, payment: Payment): Partial<Payment> | undefined {
  switch (event.type) {
    case 'SettlementRequested':
      return { state: 'settling', attempts: event.data.attempt, transaction: null, reason: null }
    case 'SettlementBroadcast':
      return { state: 'broadcast', transaction: event.data.transaction }
    case 'SettlementFailed':
      return { state: 'owed', transaction: null, reason: event.data.reason }
    case 'SettlementUnknown':
      return { state: 'unknown', reason: event.data.reason }
    case 'SettlementConfirmed': {
      const { transaction, blockNumber, blockHash } = event.data
      return { state: 'confirmed', transaction, blockNumber, blockHash, reason: null }
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
      return { refunded: refunded.toString(), ...(isAll && { state: 'refunded' as const }) }
    }
    default:
      return undefined
  }
}
