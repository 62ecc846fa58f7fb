import { createPaidBalancePath, type PaidBalancePath } from './paid-balance-path.ts'
import { createPaidCallPath, type PaidCallPath } from './paid-call-path.ts'
import { createPaidHandshake } from './paid-handshake.ts'
import { createPaidOffers } from './paid-offers.ts'
import type { PaidCallsOptions } from './paid-options.ts'
import { createPaidPlanPath, type PaidPlanPath } from './paid-plan-path.ts'

/** Everything that is paid for request by request. */
export interface PaidCalls {
  readonly tools: PaidCallPath
  readonly plans: PaidPlanPath
  readonly balances: PaidBalancePath
}

/**
 * The paths of paid tool calls, plans and balances. They share their offers, and the bound on payments that are under way.
 */
export function createPaidCalls(options: PaidCallsOptions): PaidCalls {
  const { payments, publicUrl, withdrawn, clock = () => performance.now() } = options
  const parts = {
    ...options,
    offers: createPaidOffers({ payments, publicUrl, clock, ...(withdrawn && { withdrawn }) }),
    handshake: createPaidHandshake({ payments, publicUrl, clock }),
  }
  return {
    tools: createPaidCallPath(parts),
    plans: createPaidPlanPath(parts),
    balances: createPaidBalancePath(parts),
  }
}
