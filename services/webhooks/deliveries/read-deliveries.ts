import type { OpenDelivery } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import { type Deliveries, type DeliveryEvent, evolveDeliveries, initialDeliveries } from './delivery-state.ts'
import { type DeliveryPlace, placeIn } from './prepare-delivery.ts'

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
        found.set(attempt.sequence, { ...placeIn(attempt), template, baseUrl })
      }
    }
    if (found.size > to - from || isInFront(event, from) || ++looked === LIMITS.webhookScanEvents) break
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

/** The window in which failed deliveries are looked for. Sequences, both ends inclusive. */
interface FailedWindow {
  readonly first: number
  readonly last: number
  /** Deliveries that are retried anyway. */
  readonly open: Pick<Deliveries['open'], 'has'>
  /** A replay does not send again the deliveries that it gave up. */
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
    if (isInFront(event, first)) break
    if (event.type !== 'DeliveriesAttempted') continue
    const { template, baseUrl, attempts } = event.data
    for (const { result, ...attempt } of attempts) {
      const { sequence } = attempt
      if (sequence < first || sequence > last || taken.has(sequence) || open.has(sequence)) continue
      const isGivenUpAgain = result === 'exhausted' && attempt.replayId === replayId
      if (result === 'delivered' || isGivenUpAgain) {
        taken.add(sequence)
        failed.delete(sequence)
        continue
      }
      // A delivery that was skipped, since it was too old for its owner, has not failed.
      if (result !== 'skipped') failed.set(sequence, { ...placeIn(attempt), template, baseUrl })
    }
  }
  return [...failed.values()].toSorted((a, b) => a.sequence - b.sequence)
}

/** The part of a subscription with which its deliveries begin. */
export type Deliverable = Pick<Subscription, 'subscriptionId' | 'startAfter' | 'moved'>

/**
 * The next `LIMITS.webhookScanEvents` events of a delivery log, oldest first, from the first for which something holds
 * that holds for all after it.
 */
export async function* deliveriesSince(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  holds: (event: DeliveryEvent) => boolean,
): AsyncGenerator<DeliveryEvent, void, void> {
  const from = await firstRevision(store, subscriptionId, holds)
  if (from === undefined) return
  const reading = { from, limit: LIMITS.webhookScanEvents }
  for await (const recorded of store.read(deliveryStream(subscriptionId), reading))
    yield deliveryEvent(recorded)
}

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
