import { LIMITS } from '../../../contracts/limits.ts'
import type { RequestedReplay } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { deliveriesBackwards } from '../deliveries/read-deliveries.ts'
import type { ReplayItem } from './endpoint-state.ts'

/**
 * The deliveries of a replay as the delivery log has them, in their order: each with template and address that its
 * body was made with. What was never attempted is left out; its turn comes by itself.
 *
 * @param through sequences up to here were sent again already
 */
export async function findReplayed(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { replayId, fromSequence, toSequence }: RequestedReplay,
  through: number,
): Promise<ReplayItem[]> {
  const first = Math.max(fromSequence, through + 1)
  const last = Math.min(toSequence, fromSequence + LIMITS.webhookReplayDeliveries - 1)
  const found = new Map<number, ReplayItem>()
  const left = new Set<number>()
  for await (const event of deliveriesBackwards(store, subscriptionId)) {
    if (event.type !== 'DeliveriesAttempted') {
      const { cursor, finishedAbove } = event.data.state
      const isBefore = cursor.sequence <= first && finishedAbove.every(({ sequence }) => sequence < first)
      if (isBefore) break
      continue
    }
    const { template, baseUrl } = event.data
    for (const attempt of event.data.attempts) {
      const { sequence, deliveryId, eventId, position, stream, revision, topN } = attempt
      if (sequence < first || sequence > last) continue
      const place = { deliveryId, sequence, eventId, position, stream, revision, topN }
      // The oldest attempt that is met decides, as it did for the retries behind it.
      found.set(sequence, { ...place, replayId, toSequence, left, template, baseUrl })
    }
    if (found.size === last - first + 1) break
  }
  const items = [...found.values()].toSorted((a, b) => a.sequence - b.sequence)
  for (const { sequence } of items) left.add(sequence)
  return items
}
