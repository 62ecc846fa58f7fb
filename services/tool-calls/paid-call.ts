import type { ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { Tier } from '../../contracts/plans.ts'
import type { Channel } from '../../contracts/quota-events.ts'
import type { Payments } from '../payments/index.ts'
import type { OfferText } from './paid-offers.ts'

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

export interface PaidAnswer {
  readonly kind: 'answer'
  readonly body: JsonObject
  /** The same as JSON text, where it is at hand. */
  readonly text?: string | undefined
  /** True where the authorization, or the idempotency key, was answered before: this is that answer. */
  readonly isReplay: boolean
  /** Header with the receipt; undefined while no transaction is known, and on the key rail. */
  readonly receipt: ReturnType<Payments['receipt']>
}

export type PaidOutcome = PaidOffer | PaidAnswer
