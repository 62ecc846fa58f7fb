import type { DeliveryAttempt, OpenDelivery } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { decodeEventOf } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { type Deliveries, type DeliveryEvent, evolveDeliveries, initialDeliveries } from './delivery-state.ts'
import { type DeliveryPlace, placeIn } from './prepare-delivery.ts'

/** A delivery that was attempted: where its event is, and what its body was made with. */
export type NumberedDelivery = DeliveryPlace & Pick<OpenDelivery, 'template' | 'baseUrl'>

/** A stretch of sequences, both ends inclusive, and which of its deliveries are looked for. */
interface Sought {
  readonly first: number
  readonly last: number
  /** Whether an attempt takes its delivery out; earlier attempts then do not count. */
  readonly isOut: (attempt: DeliveryAttempt) => boolean
  /** Whether an attempt brings its delivery in. */
  readonly isIn: (attempt: DeliveryAttempt) => boolean
  /** Revision at which the reading begins; the newest without it. */
  readonly from?: number | undefined
  /** Told of each event; ends the reading where it says so. */
  readonly isEnough: (events: number, decided: number) => boolean
}

/** Deliveries of a stretch, in their order, as they were first recorded: read backwards from the newest event. */
async function findDeliveries(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { first, last, isOut, isIn, from, isEnough }: Sought,
): Promise<NumberedDelivery[]> {
  const out = new Set<number>()
  const found = new Map<number, NumberedDelivery>()
  let events = 0
  for await (const event of deliveriesBackwards(store, subscriptionId, from)) {
    if (isInFront(event, first)) break
    const { template, baseUrl, attempts } = event.type === 'DeliveriesAttempted' ? event.data : NO_ATTEMPTS
    for (const attempt of attempts) {
      const { sequence } = attempt
      if (sequence < first || sequence > last || out.has(sequence)) continue
      if (isOut(attempt)) {
        out.add(sequence)
        found.delete(sequence)
      } else if (isIn(attempt)) found.set(sequence, { ...placeIn(attempt), template, baseUrl })
    }
    if (isEnough(++events, out.size + found.size)) break
  }
  return [...found.values()].toSorted((a, b) => a.sequence - b.sequence)
}

const NO_ATTEMPTS = { template: 0, baseUrl: '', attempts: [] }

/**
 * The deliveries of a stretch of sequences that were attempted. A number that was never used (its owner moved the
 * cursor) is left out.
 *
 * @param to inclusive; ask for a few hundred at a time
 */
export async function numberedDeliveries(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  from: number,
  to: number,
): Promise<NumberedDelivery[]> {
  return findDeliveries(store, subscriptionId, {
    first: from,
    last: to,
    from: await firstRevision(store, subscriptionId, (event) => sequenceAt(event) > to),
    isOut: () => false,
    isIn: ({ replayId }) => replayId === null,
    isEnough: (events, decided) => decided > to - from || events === LIMITS.webhookScanEvents,
  })
}

/** The deliveries of a stretch that a replay has neither sent nor given up. */
export const findReplayed = (
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { first, last, replayId }: { readonly first: number; readonly last: number; readonly replayId: string },
): Promise<NumberedDelivery[]> =>
  findDeliveries(store, subscriptionId, {
    first,
    last,
    isOut: (attempt) => attempt.replayId === replayId && attempt.result !== 'failed',
    isIn: () => true,
    isEnough: (_events, decided) => decided > last - first,
  })

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
export const findFailed = (
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { first, last, open, replayId }: FailedWindow,
): Promise<NumberedDelivery[]> =>
  findDeliveries(store, subscriptionId, {
    first,
    last,
    isOut: ({ sequence, result, replayId: sentBy }) =>
      open.has(sequence) || result === 'delivered' || (result === 'exhausted' && sentBy === replayId),
    // A delivery that was skipped has not failed.
    isIn: ({ result }) => result !== 'skipped',
    isEnough(events) {
      if (events <= LIMITS.webhookScanEvents) return false
      throw new ServiceError('invalid_request', {
        message: 'from: too much was sent since to be looked through; give a later instant, or numbers',
      })
    },
  })

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
export const deliveryEvent = (recorded: RecordedEvent): DeliveryEvent =>
  decodeEventOf(recorded, 'CursorTaken', 'CursorMoved', 'DeliveriesAttempted')
