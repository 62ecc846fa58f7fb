import { DELIVERY_RESULTS, type DeliveryResult } from '../../../contracts/delivery-events.ts'
import { isoDay } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import type { EventStore } from '../../log/event-store.ts'
import { deliveriesBackwards } from './read-deliveries.ts'

export interface CountedDays {
  /** Newest first; `date` is a UTC day, `2026-01-31`. */
  readonly days: readonly ({ readonly date: string } & Readonly<Record<DeliveryResult, number>>)[]
  /** False where the reading ended before the oldest day did. */
  readonly isComplete: boolean
}

/** Counts attempts by UTC day and result, from the newest back. */
export async function countDays(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { now, days: count }: { readonly now: number; readonly days: number },
): Promise<CountedDays> {
  const today = Math.floor(now / DAY_MS)
  const days = Array.from({ length: count }, (_, back) => ({
    date: isoDay((today - back) * DAY_MS),
    ...(Object.fromEntries(DELIVERY_RESULTS.map((result) => [result, 0])) as Record<DeliveryResult, number>),
  }))
  let looked = 0
  for await (const event of deliveriesBackwards(store, subscriptionId)) {
    if (looked++ === LIMITS.webhookScanEvents) return { days, isComplete: false }
    // A day more than is counted: an event may have been recorded after the midnight that its attempts lie before.
    if (Date.parse(event.at) < (today - count) * DAY_MS) break
    if (event.type !== 'DeliveriesAttempted') continue
    for (const { at, result } of event.data.attempts) {
      // The clock of another process may be ahead of midnight.
      const day = days[Math.max(0, today - Math.floor(at / DAY_MS))]
      if (day !== undefined) day[result] += 1
    }
  }
  return { days, isComplete: true }
}
