import type { OpenDelivery } from '../../../contracts/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { DeliveryEvent } from './delivery-state.ts'
import type { DeliveryPlace } from './prepare-delivery.ts'
import { deliveriesBackwards, deliveryEvent } from './read-deliveries.ts'

/** A delivery that was attempted: where its event is, and what its body was made with. */
export type NumberedDelivery = DeliveryPlace & Pick<OpenDelivery, 'template' | 'baseUrl'>

/**
 * The deliveries of a stretch of sequences that were attempted, in their order, as they were first recorded: what
 * a replay sends again, with {@link prepareAgain}. A number that was never used (its owner moved the cursor) is
 * left out.
 *
 * @param to inclusive; ask for a few hundred at a time
 */
export async function numberedDeliveries(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  from: number,
  to: number,
): Promise<NumberedDelivery[]> {
  const found = new Map<number, NumberedDelivery>()
  const end = await firstRevision(store, subscriptionId, (event) => sequenceAt(event) > to)
  let looked = 0
  for await (const event of deliveriesBackwards(store, subscriptionId, end)) {
    if (event.type === 'DeliveriesAttempted') {
      const { template, baseUrl, attempts } = event.data
      for (const { replayId, ...attempt } of attempts.toReversed()) {
        if (replayId !== null || attempt.sequence < from || attempt.sequence > to) continue
        const { deliveryId, sequence, eventId, position, stream, revision, topN } = attempt
        const place = { deliveryId, sequence, eventId, position, stream, revision, topN }
        found.set(sequence, { ...place, template, baseUrl })
      }
    }
    if (found.size > to - from || isInFront(event, from) || ++looked === LIMITS.webhookScanEvents) break
  }
  return [...found.values()].toSorted((a, b) => a.sequence - b.sequence)
}

/**
 * Whether nothing in front of an event is about a number or those behind it. Only an event that says the state whole
 * tells: while one delivery hangs, the cursor stands still in front of it, however many behind it are taken.
 */
function isInFront(event: DeliveryEvent, from: number): boolean {
  if (event.type === 'DeliveriesAttempted') return false
  const { cursor, finishedAbove, open } = event.data.state
  return cursor.sequence <= from && [...finishedAbove, ...open].every(({ sequence }) => sequence < from)
}

/** The number that the cursor stands at behind an event. */
const sequenceAt = ({ type, data }: DeliveryEvent): number =>
  type === 'DeliveriesAttempted' ? data.cursor.sequence : data.state.cursor.sequence

/**
 * Revision of the first event of a delivery log for which something holds that holds for all behind it, found by
 * halving; undefined where it holds for none.
 */
export async function firstRevision(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  holds: (event: DeliveryEvent) => boolean,
): Promise<number | undefined> {
  const at = async (options: Parameters<EventStore['read']>[1]): Promise<DeliveryEvent | undefined> => {
    for await (const recorded of store.read(deliveryStream(subscriptionId), { ...options, limit: 1 })) {
      return deliveryEvent(recorded)
    }
    return undefined
  }
  const newest = await at({ direction: 'backwards' })
  if (newest === undefined || !holds(newest)) return undefined
  let [low, high] = [-1, newest.revision]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const event = await at({ from: middle })
    if (event === undefined || holds(event)) high = middle
    else low = middle
  }
  return high
}
