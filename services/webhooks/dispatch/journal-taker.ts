import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import type { DeliveryLog } from '../deliveries/delivery-log.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Takes the delivery logs of endpoints over, each once: with the first attempt, since most endpoints have nothing to
 * be sent for a long while.
 */
export function createJournalTaker(
  deliveries: DeliveryLog,
  holder: string,
): (endpoint: Endpoint) => Promise<DeliveryJournal> {
  const taking = new Map<Endpoint, Promise<DeliveryJournal>>()
  return async (endpoint) => {
    if (endpoint.journal !== undefined) return endpoint.journal
    const known = taking.get(endpoint)
    if (known !== undefined) return known
    const take = deliveries.take(endpoint.state.subscription, endpoint.token, holder)
    taking.set(endpoint, take)
    try {
      const journal = await take
      endpoint.took(journal)
      return journal
    } finally {
      taking.delete(endpoint)
    }
  }
}
