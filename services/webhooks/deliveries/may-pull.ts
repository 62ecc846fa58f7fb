import type { Signal } from '../signals/signal.ts'
import { windowClosesAt } from '../signals/signal-window.ts'
import { isSending, type Subscription } from '../state/subscription-state.ts'
import { type Deliveries, wasAttempted } from './delivery-state.ts'

/** Whether an endpoint ever took a delivery: pulling makes up for pushes, it does not stand for them. */
export const hasAccepted = ({ lastSuccessAt }: Pick<Deliveries, 'lastSuccessAt'>): boolean =>
  lastSuccessAt !== null

/**
 * Whether the owner of a subscription may read a signal of it. Of a window that has closed everybody may. Of one that
 * is open, which callers pay for by the call, whose endpoint took a delivery before, if this one has been due: it was
 * tried, or would be now if the endpoint were well. A paused or disabled subscription has nothing due.
 *
 * @param marketNow Unix milliseconds
 */
export function mayPull(
  { signal, sequence }: { readonly signal: Signal; readonly sequence: number },
  subscription: Subscription,
  state: Deliveries,
  marketNow: number,
): boolean {
  if (windowClosesAt(signal) <= marketNow) return true
  return hasAccepted(state) && (isSending(subscription) || wasAttempted(state, sequence))
}
