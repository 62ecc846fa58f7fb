import type { PaidPlanPath } from './paid-call.ts'
import { createPaidCallPath, type PaidCallPath } from './paid-call-path.ts'
import { createPaidHandshake } from './paid-handshake.ts'
import { createPaidOffers } from './paid-offers.ts'
import type { PaidCallsOptions } from './paid-options.ts'
import { createPaidPlanPath } from './paid-plan-path.ts'

/** Everything that is paid for request by request. */
export interface PaidCalls {
  readonly tools: PaidCallPath
  readonly plans: PaidPlanPath
}

/**
 * The paths of paid tool calls and plans. They share their offers, and the bound on payments that are under way.
 */
export function createPaidCalls(options: PaidCallsOptions): PaidCalls {
  const timed = { clock: () => performance.now(), ...options }
  const parts = { ...options, offers: createPaidOffers(timed), handshake: createPaidHandshake(timed) }
  return {
    tools: createPaidCallPath(parts),
    plans: createPaidPlanPath(parts),
  }
}
