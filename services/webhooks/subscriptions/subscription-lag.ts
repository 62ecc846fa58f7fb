import type { Subscription } from '../../../projections/index.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import { lookThrough } from '../signals/look-through.ts'
import type { Lag } from './read-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'

/** Events behind a cursor that are looked at: enough to tell who keeps up. */
const LAG_LOOKED = 100

/** Signals that wait after the cursor, counted over the next events of the log. */
export async function lagOf(
  { looking }: SubscriptionDeps,
  subscription: Subscription,
  { cursor }: Deliveries,
): Promise<Lag> {
  let [signals, looked] = [0, 0]
  for await (const { matched } of lookThrough(looking, subscription, cursor, await looking.head())) {
    if (matched !== undefined) signals += 1
    if (++looked === LAG_LOOKED) return { signals, isMore: true }
  }
  return { signals, isMore: false }
}
