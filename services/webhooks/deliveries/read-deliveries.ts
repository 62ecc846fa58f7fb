import type { DeliveryAttempt, OpenDelivery } from '../../../contracts/events/delivery-events.ts'
import { decodeEventOf } from '../../../contracts/events/event-catalogue.ts'
import { deliveryStream } from '../../../contracts/events/streams.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { type Deliveries, type DeliveryEvent, evolveDeliveries, initialDeliveries } from './delivery-state.ts'
import { type DeliveryPlace, placeIn } from './prepare-delivery.ts'

/**
 * The deliveries of a stretch of sequences that were attempted, in their order, as they were first recorded. A number
 * that was never used (its owner moved the cursor) is left out.
 *
 * @param to inclusive; ask for a few hundred at a time
 */
export async function numberedDeliveries(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  from: number,
  to: number,
): Promise<DeliveryPlace[]> {
  const found = new Map<number, DeliveryPlace>()
  let events = 0
  const newest = await firstRevision(store, subscriptionId, (event) => sequenceAt(event) > to)
  for await (const event of deliveriesBackwards(store, subscriptionId, newest)) {
    if (isInFront(event, from)) break
    if (event.type === 'DeliveriesAttempted') {
      for (const attempt of event.data.attempts) {
        const { sequence } = attempt
        if (sequence >= from && sequence <= to) found.set(sequence, placeIn(attempt))
      }
    }
    if (found.size > to - from || ++events === LIMITS.webhookScanEvents) break
  }
  return [...found.values()].toSorted((a, b) => a.sequence - b.sequence)
}

/**
 * Whether no event before this one is about a number or higher ones. Only an event with the whole state can tell:
 * while one delivery hangs, the cursor stays before it, however many higher ones are taken.
 */
export function isInFront(event: DeliveryEvent, from: number): boolean {
  if (event.type === 'DeliveriesAttempted') return false
  const { cursor, finishedAbove, open } = event.data.state
  return cursor.sequence <= from && [...finishedAbove, ...open].every(({ sequence }) => sequence < from)
}

/** The number of the cursor after an event. */
const sequenceAt = ({ type, data }: DeliveryEvent): number =>
  type === 'DeliveriesAttempted' ? data.cursor.sequence : data.state.cursor.sequence

/**
 * Revision of the first event of a delivery log for which something holds that holds for all after it, found by
 * halving; undefined where it holds for none.
 */
async function firstRevision(
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

/** The part of a subscription with which its deliveries begin. */
export type Deliverable = Pick<Subscription, 'subscriptionId' | 'startAfter' | 'moved'>

/**
 * The deliveries that were given up since an instant and wait for no other try, the oldest first: as many as may wait
 * beside what is open.
 *
 * @param since Unix milliseconds
 * @returns `isWhole`: all since then was looked through
 */
export async function findExhausted(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { since, open }: { readonly since: number; readonly open: Deliveries['open'] },
): Promise<{ readonly found: readonly OpenDelivery[]; readonly isWhole: boolean }> {
  const exhausted = new Map<number, OpenDelivery>()
  let events = 0
  const from = await firstRevision(store, subscriptionId, ({ at }) => Date.parse(at) >= since)
  const reading = { from: from ?? 0, limit: from === undefined ? 0 : LIMITS.webhookScanEvents }
  for await (const recorded of store.read(deliveryStream(subscriptionId), reading)) {
    const event = deliveryEvent(recorded)
    events += 1
    if (event.type !== 'DeliveriesAttempted') continue
    for (const attempt of event.data.attempts) {
      exhausted.delete(attempt.sequence)
      if (attempt.result === 'exhausted' && !open.has(attempt.sequence))
        exhausted.set(attempt.sequence, waitingAgain(attempt))
    }
  }
  const found = [...exhausted.values()].toSorted((a, b) => a.sequence - b.sequence)
  return {
    found: found.slice(0, Math.max(0, LIMITS.webhookOpenDeliveries - open.size)),
    isWhole: events < LIMITS.webhookScanEvents,
  }
}

/** A delivery that was given up, as one whose tries begin anew. */
const waitingAgain = (attempt: DeliveryAttempt): OpenDelivery => ({
  ...placeIn(attempt),
  attempt: 0,
  status: attempt.status,
  reason: attempt.reason,
  firstAt: attempt.at,
  lastAt: attempt.at,
  nextAt: attempt.at,
})

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
export const deliveryEvent = (recorded: RecordedEvent): DeliveryEvent =>
  decodeEventOf(recorded, 'CursorTaken', 'CursorMoved', 'DeliveriesAttempted')
