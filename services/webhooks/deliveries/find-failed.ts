import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { Deliveries, DeliveryEvent } from './delivery-state.ts'
import type { NumberedDelivery } from './numbered-deliveries.ts'
import { deliveriesBackwards } from './read-deliveries.ts'

/** Where failed deliveries are looked for. Sequences, both ends inclusive. */
export interface FailedWindow {
  readonly first: number
  readonly last: number
  /** What waits for another try comes by itself. */
  readonly open: Pick<Deliveries['open'], 'has'>
  /** What this replay gave up is not begun again by it. */
  readonly replayId?: string
}

/**
 * The deliveries of a window that were tried and never taken, in their turn or when they were sent again, and that
 * nobody tries any more; in their order, with what their bodies were made with.
 *
 * @throws ServiceError `invalid_request` where more of the log is to be looked through than may be
 */
export async function findFailed(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { first, last, open, replayId }: FailedWindow,
): Promise<NumberedDelivery[]> {
  const taken = new Set<number>()
  const failed = new Map<number, NumberedDelivery>()
  let looked = 0
  for await (const event of deliveriesBackwards(store, subscriptionId)) {
    looked += 1
    if (looked > LIMITS.webhookScanEvents) {
      throw new ServiceError('invalid_request', {
        message: 'from: too much was sent since to be looked through; give a later instant, or numbers',
      })
    }
    if (event.type !== 'DeliveriesAttempted') {
      if (isBefore(event, first)) break
      continue
    }
    const { template, baseUrl, attempts } = event.data
    for (const { result, ...attempt } of attempts) {
      const { deliveryId, sequence, eventId, position, stream, revision, topN } = attempt
      if (sequence < first || sequence > last || taken.has(sequence) || open.has(sequence)) continue
      const isGivenUpAgain = result === 'exhausted' && attempt.replayId === replayId
      if (result === 'delivered' || isGivenUpAgain) {
        taken.add(sequence)
        failed.delete(sequence)
        continue
      }
      const place = { deliveryId, sequence, eventId, position, stream, revision, topN }
      // What was never sent, since it was too old for its owner, has not failed.
      if (result !== 'skipped') failed.set(sequence, { ...place, template, baseUrl })
    }
  }
  return [...failed.values()].toSorted((a, b) => a.sequence - b.sequence)
}

/** Whether nothing in front of an event, which says the state whole, is about a number or those behind it. */
function isBefore(event: Exclude<DeliveryEvent, { type: 'DeliveriesAttempted' }>, first: number): boolean {
  const { cursor, finishedAbove, open } = event.data.state
  return cursor.sequence <= first && [...finishedAbove, ...open].every(({ sequence }) => sequence < first)
}
