import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { firstRevision } from '../deliveries/numbered-deliveries.ts'
import { deliveryEvent } from '../deliveries/read-deliveries.ts'

/** What is to be sent again: numbers of deliveries, or when they were tried; both ends inclusive. */
export type ReplayWindow =
  | { readonly fromSequence: number; readonly toSequence: number }
  /** Unix milliseconds. */
  | { readonly from: number; readonly to: number }

/**
 * The numbers of a window. Of instants: of all deliveries in their turn that were tried between them.
 *
 * @throws ServiceError `invalid_request` where nothing was tried in it, or more is to be looked through than may be
 */
export async function findWindow(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  window: ReplayWindow,
): Promise<{ readonly fromSequence: number; readonly toSequence: number }> {
  if ('fromSequence' in window) return window
  const { from, to } = window
  let [lowest, highest] = [Number.POSITIVE_INFINITY, 0]
  let looked = 0
  // Attempts are recorded when they have ended, so those of the window stand behind its beginning.
  const begin = await firstRevision(store, subscriptionId, ({ at }) => Date.parse(at) >= from)
  const reading = { from: begin ?? 0, limit: LIMITS.webhookScanEvents }
  for await (const recorded of begin === undefined
    ? []
    : store.read(deliveryStream(subscriptionId), reading)) {
    looked += 1
    const event = deliveryEvent(recorded)
    if (event.type === 'DeliveriesAttempted') {
      for (const { at, sequence, replayId } of event.data.attempts) {
        if (replayId !== null || at < from || at > to) continue
        lowest = Math.min(lowest, sequence)
        highest = Math.max(highest, sequence)
      }
    }
    if (Date.parse(event.at) > to + LIMITS.webhookAttemptMs + RECORDING_MS) break
  }
  if (looked === LIMITS.webhookScanEvents) throw refusal('the window is too long to be looked through')
  if (highest === 0) throw refusal('nothing was tried between these instants')
  return { fromSequence: lowest, toSequence: highest }
}

/** How long an attempt that has ended may wait to be recorded, while the log is slow. */
const RECORDING_MS = 60_000

const refusal = (problem: string): ServiceError =>
  new ServiceError('invalid_request', { message: `from, to: ${problem}` })
