import type { MarketKind } from '../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { ToolName } from '../../contracts/tools/tool-catalogue.ts'
import type { PlanPeriod } from '../../projections/index.ts'
import type { Identify } from '../accounts/index.ts'
import type { Payments } from '../payments/index.ts'
import type { PaidTier } from './paid-call.ts'
import type { PaidHandshake } from './paid-handshake.ts'
import type { PaidOffers } from './paid-offers.ts'
import type { CallPath } from './tool-call.ts'

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
   * @throws ServiceError `account_unknown` for an account that was erased before it began, `plan_ended` for one that
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
