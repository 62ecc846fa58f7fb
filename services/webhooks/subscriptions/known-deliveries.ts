import { LIMITS } from '../../../contracts/limits.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../log/event-store.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { type Deliveries, evolveDeliveries, withMove } from '../deliveries/delivery-state.ts'
import { type Deliverable, deliveryEvent, readDeliveries } from '../deliveries/read-deliveries.ts'

/** How subscriptions stand, for whoever asks again and again. */
export interface KnownDeliveries {
  /** The newest state, other processes' events included, with the cursor where its owner moved it to. */
  load(subscription: Deliverable): Promise<Deliveries>
}

/**
 * Remembers the state of delivery logs, so that asking again reads only what was recorded since: a log is folded from
 * its newest snapshot, which may lie hundreds of attempts back.
 */
export function createKnownDeliveries(store: Pick<EventStore, 'read'>): KnownDeliveries {
  const known = new RecentMap<string, Deliveries>(LIMITS.webhookDeliveriesKnown)

  function remember(subscriptionId: string, state: Deliveries): Deliveries {
    if (state.revision === 'no-stream') known.delete(subscriptionId)
    else known.set(subscriptionId, state)
    return state
  }

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
    load: async (subscription) =>
      withMove(remember(subscription.subscriptionId, await newest(subscription)), subscription),
  }
}
