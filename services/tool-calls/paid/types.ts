import type { Tier } from '../../../contracts/domain/plans.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import type { MarketKind } from '../../../contracts/events/event-catalogue.ts'
import type { Channel } from '../../../contracts/events/quota-events.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import type { PlanPeriod } from '../../../projections/index.ts'
import type { Identify } from '../../accounts/index.ts'
import type { Payments } from '../../payments/index.ts'
import type { CallPath, ToolAnswer } from '../tool-call.ts'
import type { PaidHandshake } from './handshake.ts'
import type { OfferText, PaidOffers } from './offers.ts'

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
   *   `plan_conflict`, `state_conflict`, `invalid_content_type`, `invalid_request`, `payment_malformed`, `payment_mismatch`,
   *   `payment_unproven`, `payment_pending`, `payments_unavailable`, and those of the store
   */
  buy(tier: PaidTier, request: PaidRequest): Promise<PaidOutcome>
  /** The offer to who has not said for which account: for indexers. */
  offer(tier: PaidTier): PaidOutcome
}

/** The plans of accounts, as far as they are bought. */
export interface PlanSales {
  /**
   * Whether an account can take a further plan; asked before anything is offered or taken.
   *
   * @throws ServiceError `account_unknown`, `invalid_request` where it has as many as it may have, `plan_conflict`
   *   where it has a dearer one
   */
  requireRoom(accountId: string, tier: PaidTier): Promise<void>
  /**
   * The plan that a payment bought: begun already, or begun by this. A payment begins one plan, however often it is
   * asked for, also where room has run out since it was taken.
   *
   * @throws ServiceError `account_unknown` for an account that was erased before it began, `state_conflict` for one that
   *   was erased since, and those of the store
   */
  started(bought: {
    readonly accountId: string
    readonly tier: PaidTier
    readonly paymentId: string
    /** When the payment was claimed, Unix milliseconds. */
    readonly claimedAtMs: number
    readonly requestId: string
  }): Promise<PlanPeriod>
}

export interface PaidCallsOptions {
  /** Serves keys that have calls left. */
  readonly calls: CallPath
  readonly payments: Payments
  readonly identify: Identify
  /** Computes the answer; an error costs the caller nothing. */
  readonly answer: (tool: ToolName, request: unknown, payer: string) => Promise<JsonObject>
  readonly plans: PlanSales
  readonly market: MarketKind
  readonly version: string
  /** The address under which callers reach the service. */
  readonly publicUrl: () => string
  /** The note in offers of calls that are withdrawn for now; empty if there are none. */
  readonly withdrawn?: () => string
  /** Milliseconds that only grow. */
  readonly clock?: () => number
}

/** The options of both paths, with the parts that they share. */
export interface PaidPathOptions extends PaidCallsOptions {
  readonly handshake: PaidHandshake
  readonly offers: PaidOffers
}
