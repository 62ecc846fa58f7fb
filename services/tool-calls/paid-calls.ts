import type { MarketKind } from '../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { ToolName } from '../../contracts/tools/tool-catalogue.ts'
import type { Identify } from '../accounts/index.ts'
import type { Payments } from '../payments/index.ts'
import { createPaidCallPath, type PaidCallPath } from './paid-call-path.ts'
import { createPaidHandshake, type PaidHandshake } from './paid-handshake.ts'
import { createPaidOffers, type PaidOffers } from './paid-offers.ts'
import { createPaidPlanPath, type PaidPlanPath, type PlanSales } from './paid-plan-path.ts'
import type { CallPath } from './tool-call.ts'

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

/** Everything that is paid for request by request. */
export interface PaidCalls {
  readonly tools: PaidCallPath
  readonly plans: PaidPlanPath
}

/**
 * The paths of paid tool calls and of plans. They share their offers, and the bound on payments that are under way.
 *
 * @example
 * const paid = createPaidCalls({ calls, payments, identify, answer, plans, market, version, publicUrl })
 * const outcome = await paid.tools.call({ tool: 'get_trade_call', body, rawHeaders, … })
 */
export function createPaidCalls(options: PaidCallsOptions): PaidCalls {
  const { payments, publicUrl, withdrawn, clock = () => performance.now() } = options
  const parts = {
    ...options,
    offers: createPaidOffers({ payments, publicUrl, clock, ...(withdrawn && { withdrawn }) }),
    handshake: createPaidHandshake({ payments, publicUrl, clock }),
  }
  return { tools: createPaidCallPath(parts), plans: createPaidPlanPath(parts) }
}
