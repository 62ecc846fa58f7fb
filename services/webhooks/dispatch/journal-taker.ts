import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import type { DeliveryLog } from '../deliveries/delivery-log.ts'
import type { Lane } from './lane.ts'

/**
 * Takes the delivery logs of endpoints over, each once: with the first attempt, since most endpoints have nothing to
 * be sent for a long while.
 */
export function createJournalTaker(
  deliveries: DeliveryLog,
  holder: string,
): (lane: Lane) => Promise<DeliveryJournal> {
  const taking = new Map<Lane, Promise<DeliveryJournal>>()
  return async (lane) => {
    if (lane.journal !== undefined) return lane.journal
    const known = taking.get(lane)
    if (known !== undefined) return known
    const take = deliveries.take(lane.subscription, lane.token, holder)
    taking.set(lane, take)
    try {
      lane.journal = await take
      return lane.journal
    } finally {
      taking.delete(lane)
    }
  }
}
