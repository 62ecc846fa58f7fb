import { deliveryStream } from '../../../contracts/events/streams.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { type Deliveries, evolveDeliveries, withMove } from '../deliveries/delivery-state.ts'
import { type Deliverable, deliveryEvent, readDeliveries } from '../deliveries/read-deliveries.ts'

export type KnownDeliveries = ReturnType<typeof createKnownDeliveries>

/**
 * Remembers the state of delivery logs, so that asking again reads only newer events: a log is folded from its newest
 * snapshot, which may lie hundreds of attempts back.
 */
export function createKnownDeliveries(store: Pick<EventStore, 'read'>) {
  const known = new RecentMap<string, Deliveries>(LIMITS.webhookDeliveriesKnown)

  async function newest(subscription: Deliverable): Promise<Deliveries> {
    const { subscriptionId } = subscription
    let state = known.get(subscriptionId)
    if (state === undefined || state.revision === 'no-stream') return readDeliveries(store, subscription)
    const from = state.revision + 1
    for await (const recorded of store.read(deliveryStream(subscriptionId), { from })) {
      // EventStoreDB begins at the end where there is nothing from here on.
      if (recorded.revision >= from) state = evolveDeliveries(state, deliveryEvent(recorded))
    }
    return state
  }

  return {
    /** The newest state, other processes' events included, with the cursor where its owner moved it to. */
    async load(subscription: Deliverable): Promise<Deliveries> {
      const state = await newest(subscription)
      if (state.revision !== 'no-stream') known.set(subscription.subscriptionId, state)
      return withMove(state, subscription)
    },
  }
}
