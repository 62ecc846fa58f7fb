import type { Subscription } from '../../../projections/index.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import { lookThrough } from '../signals/match-range.ts'
import { type Lag, type SubscriptionView, type ViewDeps, viewOf } from './read-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'

/** Events behind a cursor that are looked at: enough to tell who keeps up. */
const LAG_LOOKED = 100

/** One that is asked for by itself: also what waits for it in the log. */
export async function closeViewOf(
  deps: ViewDeps & Pick<SubscriptionDeps, 'looking'>,
  subscription: Subscription,
): Promise<SubscriptionView> {
  const view = await viewOf(deps, subscription)
  return { ...view, lag: await lagOf(deps, subscription, view.deliveries) }
}

export async function lagOf(
  { looking: store }: Pick<SubscriptionDeps, 'looking'>,
  subscription: Subscription,
  { cursor }: Deliveries,
): Promise<Lag> {
  let [signals, looked] = [0, 0]
  for await (const { matched } of lookThrough({ store }, subscription, cursor, await store.head())) {
    if (matched !== undefined) signals += 1
    if (++looked === LAG_LOOKED) return { signals, isMore: true }
  }
  return { signals, isMore: false }
}
