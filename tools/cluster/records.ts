import type { DeliveryCursor } from '../../contracts/events/delivery-events.ts'

/** A call as its caller saw it. */
export interface CallSeen {
  /** Wall clock, Unix milliseconds. */
  readonly at: number
  readonly tookMs: number
  readonly account: string
  readonly isFree: boolean
  readonly idempotencyKey: string | undefined
  readonly isOk: boolean
  /** HTTP status; 0 where the connection broke. */
  readonly status: number
  readonly code: string | undefined
  readonly message: string
  readonly requestId: string | undefined
  readonly used: number | undefined
  readonly verdictId: string | undefined
}

/** A delivery as its endpoint saw it. */
export interface DeliverySeen {
  /** Wall clock, Unix milliseconds. */
  readonly at: number
  readonly path: string
  readonly sequence: number
  readonly deliveryId: string
  readonly event: string
  readonly verdictId: string
}

export interface SubscriptionMade {
  readonly id: string
  readonly accountId: string
  readonly path: string
  readonly start: DeliveryCursor['after']
  readonly filter: { readonly events: readonly string[]; readonly timeframes?: readonly string[] }
}

/** A key that one process issued and another was asked with at once. */
export interface KeySeen {
  readonly at: number
  readonly status: number
  readonly code: string | undefined
}

/** A payment that was presented to several processes, and what was answered. */
export interface PaymentSeen {
  readonly nonce: string
  /** One for each answer. */
  readonly answers: readonly { readonly at: number; readonly paymentId: string; readonly verdictId: string }[]
}

/** Read models of a process about an account or a payment, once nothing happens any more. */
export interface ReadSeen {
  readonly member: string
  readonly of: { readonly account: string } | { readonly paymentId: string }
  /** Calls that were counted; the state of the payment. */
  readonly says: number | string
}

/** All that was seen from outside, to be compared with the log. */
export interface Records {
  readonly calls: CallSeen[]
  readonly deliveries: DeliverySeen[]
  readonly subscriptions: SubscriptionMade[]
  readonly freshKeys: KeySeen[]
  readonly payments: PaymentSeen[]
  readonly reads: ReadSeen[]
  /** Balance of the receiver of payments at the end, millionths of a USDC; undefined where nobody is paid. */
  received: bigint | undefined
  /** Observations that must not happen at all. */
  readonly faults: string[]
}

export const noRecords = (): Records => ({
  calls: [],
  deliveries: [],
  subscriptions: [],
  freshKeys: [],
  payments: [],
  reads: [],
  received: undefined,
  faults: [],
})
