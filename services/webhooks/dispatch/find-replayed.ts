import { LIMITS } from '../../../contracts/limits.ts'
import type { RequestedReplay } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import { deliveriesBackwards, findFailed } from '../deliveries/read-deliveries.ts'
import type { ReplayItem } from './endpoint-state.ts'

/**
 * The deliveries of a replay as the delivery log has them, in their order: each with template and address that its
 * body was made with. What was never attempted is left out; its turn comes by itself.
 *
 * @param standing sequences up to `through` were sent again already; those that are `open` are tried again by themselves
 */
export async function findReplayed(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { replayId, fromSequence, toSequence, only }: RequestedReplay,
  { through, open }: { readonly through: number; readonly open: Pick<Deliveries['open'], 'has'> },
): Promise<ReplayItem[]> {
  const first = Math.max(fromSequence, through + 1)
  if (only === 'failed') {
    const failed = await findFailed(store, subscriptionId, { first, last: toSequence, open, replayId })
    const left = new Set(failed.map(({ sequence }) => sequence))
    return failed.map((one) => ({ ...one, replayId, toSequence, left }))
  }
  const last = Math.min(toSequence, fromSequence + LIMITS.webhookReplayDeliveries - 1)
  const found = new Map<number, ReplayItem>()
  const left = new Set<number>()
  /** Numbers that this replay is done with, in front of one that it is not. */
  const ended = new Set<number>()
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
      if (sequence < first || sequence > last || ended.has(sequence)) continue
      if (attempt.replayId === replayId && attempt.result !== 'failed') {
        ended.add(sequence)
        found.delete(sequence)
        continue
      }
      const place = { deliveryId, sequence, eventId, position, stream, revision, topN }
      // The oldest attempt that is met decides, as it did for the retries behind it.
      found.set(sequence, { ...place, replayId, toSequence, left, template, baseUrl })
    }
    if (found.size + ended.size === last - first + 1) break
  }
  const items = [...found.values()].toSorted((a, b) => a.sequence - b.sequence)
  for (const { sequence } of items) left.add(sequence)
  return items
}
