import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { DeliveryAttempt } from '../../../contracts/events/delivery-events.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import type { Matched, Signal } from '../signals/signal.ts'
import { toSignals } from '../signals/to-signals.ts'
import { deliveryBody } from './delivery-body.ts'

/** The identity of a delivery in the log: its id, its number, and the event that it is about. */
export type DeliveryPlace = Pick<
  DeliveryAttempt,
  'deliveryId' | 'sequence' | 'eventId' | 'position' | 'stream' | 'revision' | 'topN'
>

/** A delivery as it is sent. */
export interface PreparedDelivery extends DeliveryPlace {
  readonly signal: Signal
  readonly body: Buffer
}

/**
 * The place of a matched signal. The id of its delivery is the same over every retry, and nobody can guess
 * it. It begins with the time at which the signal was recorded.
 */
const placeOf = (idOf: FactId, { signal, sequence, subscriptionId, topN }: Matched): DeliveryPlace => {
  const { at, eventId, position, stream, revision } = signal
  const deliveryId = idOf.at(at, 'delivery', subscriptionId, eventId)
  return { deliveryId, sequence, eventId, position, stream, revision, topN }
}

/**
 * A matched signal with its body.
 *
 * @param baseUrl address of this service, which links in the body begin with
 * @example const { body, deliveryId } = prepareDelivery(matched, { idOf, baseUrl: 'https://signals.example.com' })
 */
export const prepareDelivery = (
  matched: Matched,
  { idOf, baseUrl }: { readonly idOf: FactId; readonly baseUrl: string },
): PreparedDelivery => withBody(placeOf(idOf, matched), matched.signal, baseUrl)

/**
 * A delivery that was sent before, made again from its event: to retry it.
 *
 * @throws ServiceError `event_unreadable` where the log has another event in its place; those of the store.
 */
export async function prepareAgain(
  store: Pick<EventStore, 'read'>,
  place: DeliveryPlace,
  baseUrl: string,
): Promise<PreparedDelivery> {
  let found: RecordedEvent | undefined
  for await (const recorded of store.read(place.stream, { from: place.revision, limit: 1 })) found = recorded
  const signals = found === undefined ? [] : toSignals(decodeEvent(found))
  const signal = signals.find(({ eventId }) => eventId === place.eventId)
  if (signal !== undefined) return withBody(placeIn(place), signal, baseUrl)
  throw new ServiceError('event_unreadable', {
    message: `delivery ${place.deliveryId} is about event ${place.eventId}, and ${place.stream} has ${found?.id ?? 'nothing'} at revision ${place.revision}`,
  })
}

/** The place alone of what has more to it. */
export const placeIn = ({
  deliveryId,
  sequence,
  eventId,
  position,
  stream,
  revision,
  topN,
}: DeliveryPlace): DeliveryPlace => ({ deliveryId, sequence, eventId, position, stream, revision, topN })

function withBody(place: DeliveryPlace, signal: Signal, baseUrl: string): PreparedDelivery {
  const { deliveryId, sequence, topN } = place
  assert(sequence >= 1, 'a delivery has a number', sequence)
  return { ...place, signal, body: deliveryBody({ deliveryId, sequence, signal, topN, baseUrl }) }
}
