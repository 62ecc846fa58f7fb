import { ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { type Deliveries, type DeliveryEvent, evolveDeliveries, initialDeliveries } from './delivery-state.ts'

/** What of a subscription its deliveries begin with. */
export type Deliverable = Pick<Subscription, 'subscriptionId' | 'startAfter' | 'moved'>

/** The events of a delivery log, newest first. */
export async function* deliveriesBackwards(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  from?: number,
): AsyncGenerator<DeliveryEvent, void, void> {
  const start = from === undefined ? {} : { from }
  for await (const recorded of store.read(deliveryStream(subscriptionId), {
    direction: 'backwards',
    ...start,
  })) {
    yield deliveryEvent(recorded)
  }
}

/** The deliveries of a subscription as its log has them, read back to the newest event that says them whole. */
export async function readDeliveries(
  store: Pick<EventStore, 'read'>,
  subscription: Pick<Deliverable, 'subscriptionId' | 'startAfter'>,
): Promise<Deliveries> {
  const events: DeliveryEvent[] = []
  for await (const event of deliveriesBackwards(store, subscription.subscriptionId)) {
    events.push(event)
    if (event.type !== 'DeliveriesAttempted') break
  }
  return events.toReversed().reduce<Deliveries>(evolveDeliveries, initialDeliveries(subscription))
}

/** @throws ServiceError `event_unreadable` for an event that has no place in a delivery log. */
export function deliveryEvent(recorded: RecordedEvent): DeliveryEvent {
  const event = decodeEvent(recorded)
  if (event.type === 'CursorTaken' || event.type === 'CursorMoved' || event.type === 'DeliveriesAttempted') {
    return event
  }
  throw new ServiceError('event_unreadable', {
    message: `The stream ${recorded.stream} holds a ${recorded.type} at revision ${recorded.revision}.`,
  })
}
