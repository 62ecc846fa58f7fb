import type { DeliveryAttempt } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { Signal } from '../signals/signal.ts'
import { prepareAgain } from './prepare-delivery.ts'
import { deliveryEvent, firstRevision, type NumberedDelivery } from './read-deliveries.ts'

/** A delivery with all that was tried. */
export interface ShownDelivery {
  readonly deliveryId: string
  readonly sequence: number
  readonly signal: Signal
  /** Oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** False where so much was recorded since that the newest attempts may be missing. */
  readonly isComplete: boolean
  /** The bytes that were or would have been sent, made again from the log, and their SHA-256. */
  readonly body: Buffer
  readonly bodySha256: string
}

/** @throws ServiceError `delivery_unknown`; `event_unreadable` where the body does not come out as it was sent. */
export async function showDelivery(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  deliveryId: string,
): Promise<ShownDelivery> {
  const recordedAt = Number.parseInt(deliveryId.replaceAll('-', '').slice(0, 12), 16)
  // It begins with the time of its signal, in front of which nothing was tried.
  const from = await firstRevision(store, subscriptionId, ({ at }) => Date.parse(at) >= recordedAt)
  const attempts: DeliveryAttempt[] = []
  let newest: NumberedDelivery | undefined
  let looked = 0
  const reading = { from: from ?? 0, limit: LIMITS.webhookScanEvents }
  for await (const recorded of from === undefined
    ? []
    : store.read(deliveryStream(subscriptionId), reading)) {
    looked += 1
    const event = deliveryEvent(recorded)
    if (event.type !== 'DeliveriesAttempted') continue
    const { template, baseUrl } = event.data
    for (const attempt of event.data.attempts) {
      if (attempt.deliveryId !== deliveryId) continue
      attempts.push(attempt)
      newest = { ...attempt, template, baseUrl }
    }
  }
  if (newest === undefined) {
    throw new ServiceError('delivery_unknown', {
      message: `nothing was sent with the delivery id ${deliveryId.slice(0, 64)}`,
    })
  }
  const { signal, body, bodySha256, sequence } = await prepareAgain(store, newest)
  const sent = attempts.findLast((attempt) => attempt.sequence === sequence && attempt.bodySha256 !== null)
  if (sent !== undefined && sent.bodySha256 !== bodySha256) {
    throw new ServiceError('event_unreadable', {
      message: `delivery ${deliveryId} was sent with a body of SHA-256 ${sent.bodySha256}; made again it has ${bodySha256}`,
    })
  }
  return {
    deliveryId,
    sequence,
    signal,
    attempts,
    isComplete: looked < LIMITS.webhookScanEvents,
    body,
    bodySha256,
  }
}
