import type { z } from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import type { Revision } from '../../contracts/event.ts'
import { decodeEvent, type ServiceEvent } from '../../contracts/event-catalogue.ts'
import type { PaymentClaimed, RefundSent } from '../../contracts/payment-events.ts'
import type { EventStore } from '../log/event-store.ts'
import type { SignedAuthorization } from './chain/chain.ts'
import { evolvePayment, type Payment } from './state/payment-state.ts'

export type ClaimData = z.output<typeof PaymentClaimed.data>
export type Refund = Pick<z.output<typeof RefundSent.data>, 'transaction' | 'value'>

/** A payment as its stream tells it. */
export interface LoadedPayment {
  readonly stream: string
  readonly payment: Payment
  readonly claim: ClaimData
  readonly authorization: SignedAuthorization
  readonly refunds: readonly Refund[]
  /** Revision of its newest event; the next one is appended after it. */
  readonly revision: Revision
  readonly correlationId: string
  /** Transactions that were signed for it, so that our own are known again. */
  readonly broadcasts: readonly string[]
  /** Why attempts came to nothing, the newest of them; also after the next one was begun. */
  readonly lastReason: string | null
  /** Whether a facilitator was ever asked to settle it. */
  readonly wasForwarded: boolean
  /** Whether others than the payer may know its signature: it was handed to the chain or to a facilitator. */
  readonly isPublic: boolean
  /** Whether it was ever not known what became of an attempt. */
  readonly wasInDoubt: boolean
  /** Transactions that are in a block and moved nothing for it. */
  readonly minedFailures: number
  /** Reasons that are recorded of it. */
  readonly reasons: number
}

/** Recorded of an attempt whose transaction is in a block, and brought nothing. */
export const MOVED_NOTHING = 'the transaction is in a block and has moved nothing'

/**
 * The newest state of a payment, other processes' events included; undefined where its stream holds no claim, and
 * where the reading was ended: half a stream would tell something else.
 */
export async function loadPayment(
  store: Pick<EventStore, 'read'>,
  stream: string,
  signal?: AbortSignal,
): Promise<LoadedPayment | undefined> {
  let loaded: LoadedPayment | undefined
  for await (const recorded of store.read(stream, signal && { signal })) {
    loaded = afterEvent(loaded, decodeEvent(recorded))
  }
  return signal?.aborted === true ? undefined : loaded
}

const NOTHING_YET = {
  refunds: [],
  broadcasts: [],
  lastReason: null,
  wasForwarded: false,
  isPublic: false,
  wasInDoubt: false,
  minedFailures: 0,
  reasons: 0,
} as const

/** A payment after an event of its stream. @throws ServiceError `event_unreadable` for a stream without a claim */
export function afterEvent(before: LoadedPayment | undefined, event: ServiceEvent): LoadedPayment {
  const { revision } = event
  const payment = evolvePayment(before?.payment, event) ?? before?.payment
  if (payment !== undefined && event.type === 'PaymentClaimed') {
    const { stream, meta, data: claim } = event
    const { correlationId } = meta
    const authorization = authorizationOf(claim)
    return { ...NOTHING_YET, stream, payment, claim, authorization, revision, correlationId }
  }
  if (before === undefined || payment === undefined) {
    throw new ServiceError('event_unreadable', {
      message: `The stream ${event.stream} begins with ${event.type} at revision ${revision}, not with a claim.`,
    })
  }
  const next = { ...before, payment, revision }
  switch (event.type) {
    case 'SettlementBroadcast':
      return { ...next, isPublic: true, broadcasts: [...before.broadcasts, event.data.transaction] }
    case 'SettlementFailed': {
      const { reason } = event.data
      const minedFailures = before.minedFailures + Number(reason === MOVED_NOTHING)
      return { ...next, lastReason: reason, minedFailures, reasons: before.reasons + 1 }
    }
    case 'SettlementUnknown':
      return { ...next, lastReason: event.data.reason, wasInDoubt: true, reasons: before.reasons + 1 }
    case 'RefundSent':
      return { ...next, refunds: [...before.refunds, event.data] }
    case 'SettlementRequested': {
      const wasForwarded = before.wasForwarded || event.data.settler !== 'own'
      // The process that made the request before this one ended before it could record the answer.
      const wasInDoubt = before.wasInDoubt || before.payment.state === 'settling'
      return { ...next, wasForwarded, wasInDoubt, isPublic: before.isPublic || wasForwarded }
    }
    // Somebody else may have sent it, which nothing here has recorded.
    case 'SettlementConfirmed':
      return { ...next, isPublic: true }
    case 'PaymentUncollectable':
      return { ...next, isPublic: before.isPublic || event.data.reason !== 'abandoned' }
    default:
      return next
  }
}

const authorizationOf = (claim: ClaimData): SignedAuthorization => ({
  payer: claim.payer as `0x${string}`,
  payTo: claim.payTo as `0x${string}`,
  nonce: claim.nonce as `0x${string}`,
  signature: claim.signature as `0x${string}`,
  value: BigInt(claim.value),
  validAfter: BigInt(claim.validAfter),
  validBefore: BigInt(claim.validBefore),
})
