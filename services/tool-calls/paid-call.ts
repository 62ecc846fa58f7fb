import type { ServiceError } from '../../contracts/errors.ts'
import type { Tier } from '../../contracts/plans.ts'
import type { Channel } from '../../contracts/quota-events.ts'
import type { Payments } from '../payments/index.ts'
import type { OfferText } from './paid-offers.ts'
import type { ToolAnswer } from './tool-call.ts'

export type PaidTier = Exclude<Tier, 'free'>

/** The body of a request, which is looked at before it is known whether it may count. */
export interface SentBody {
  /** The body as far as it can be parsed, with any headers; undefined if it cannot. Offers are made for it. */
  readonly lenient: unknown
  readonly isEmpty: boolean
  /**
   * The checked body, for an answer.
   *
   * @throws ServiceError `invalid_content_type`, `invalid_request` for what is no JSON
   */
  require(): unknown
}

/** A request to a paid route as the edge hands it over. */
export interface PaidRequest {
  readonly body: SentBody
  /** Names and values in turn, as Node has them. */
  readonly rawHeaders: readonly string[]
  /** The `Authorization` header as it came; undefined where there was none. */
  readonly authorization: string | undefined
  /** Network address of the caller, behind trusted proxies only. */
  readonly address: string
  readonly requestId: string
  /** W3C trace context. */
  readonly traceparent?: string | undefined
  /** Aborted when nobody waits for the answer any more; asked for only where something has to be waited for. */
  readonly signal: () => AbortSignal
}

/** The caller, for the work of a request. Named one by one, since a spread leaves out what an edge reads when it is asked. */
export const callerOf = ({ address, requestId, traceparent, signal }: PaidRequest) => ({
  address,
  requestId,
  traceparent,
  signal,
})

export interface PaidCall extends PaidRequest {
  readonly tool: string
  /** Used only by calls with a key: a payment is used once anyway. */
  readonly idempotencyKey: string | undefined
  /** HTTP where it is left out. */
  readonly channel?: Channel
}

/** The answer 402. */
export interface PaidOffer {
  readonly kind: 'offer'
  readonly offer: OfferText
  /** Why it is not an answer: `payment_required` or `payment_refused`. */
  readonly refusal: ServiceError
}

/** A replay is that of the authorization, or of the idempotency key. */
export interface PaidAnswer extends ToolAnswer {
  readonly kind: 'answer'
  /** Header with the receipt; undefined while no transaction is known, and on the key rail. */
  readonly receipt: ReturnType<Payments['receipt']>
}

export type PaidOutcome = PaidOffer | PaidAnswer

/** The path of a plan for the account of a key: settled before it counts. */
export interface PaidPlanPath {
  /**
   * Sells it, or offers it.
   *
   * @throws ServiceError `unauthorized` without a key, `key_unknown`, `key_unverifiable`, `account_unknown`,
   *   `plan_conflict`, `plan_ended`, `invalid_content_type`, `invalid_request`, `payment_malformed`, `payment_mismatch`,
   *   `payment_unproven`, `payment_pending`, `payments_unavailable`, and those of the store
   */
  buy(tier: PaidTier, request: PaidRequest): Promise<PaidOutcome>
  /** The offer to who has not said for which account: for indexers. */
  offer(tier: PaidTier): PaidOutcome
}
