import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ReplayScope } from '../../../contracts/subscription.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import { deliveriesSince, findFailed } from '../deliveries/read-deliveries.ts'
import type { RequestedReplay } from '../state/subscription-state.ts'

/** Deliveries to send again, by number or by the time of their attempts; both ends inclusive. */
export type ReplayWindow =
  | { readonly fromSequence: number; readonly toSequence: number }
  /** Unix milliseconds; until now without an end. */
  | { readonly from: number; readonly to: number | undefined }

/** All of the window, unless it says otherwise. */
export type AskedReplay = ReplayWindow & { readonly only?: ReplayScope }

/** A window in numbers, and how many deliveries of it that are. */
export type ReplayNumbers = Pick<RequestedReplay, 'fromSequence' | 'toSequence' | 'only' | 'deliveries'>

type Numbers = Pick<ReplayNumbers, 'fromSequence' | 'toSequence'>

/**
 * The numbers of a window. Of instants: of all deliveries in their turn that were tried between them. Where only
 * what failed is asked for, from the first of those to the last.
 *
 * @param open what is tried again by itself
 * @throws ServiceError `invalid_request` where nothing is in it, or more is to be looked through than may be
 * @example await findWindow(store, id, { from: Date.parse('2026-01-01T00:00:00Z'), to: undefined, only: 'failed' }, open)
 */
export async function findWindow(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { only = 'all', ...window }: AskedReplay,
  open: Deliveries['open'],
): Promise<ReplayNumbers> {
  const numbers = 'fromSequence' in window ? window : await numbersBetween(store, subscriptionId, window)
  const { fromSequence: first, toSequence: last } = numbers
  if (only === 'all' || first > last) return { ...numbers, only, deliveries: Math.max(1, last - first + 1) }
  const failed = await findFailed(store, subscriptionId, { first, last, open })
  const [lowest, highest] = [failed[0], failed.at(-1)]
  if (lowest === undefined || highest === undefined) {
    throw refusedError('nothing failed in this window that is not tried again by itself')
  }
  return {
    fromSequence: lowest.sequence,
    toSequence: highest.sequence,
    only,
    deliveries: failed.length,
  }
}

async function numbersBetween(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { from, to = Number.POSITIVE_INFINITY }: { readonly from: number; readonly to: number | undefined },
): Promise<Numbers> {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, 0]
  let looked = 0
  // Attempts are recorded when they have ended, so those of the window come after its beginning.
  for await (const event of deliveriesSince(store, subscriptionId, ({ at }) => Date.parse(at) >= from)) {
    looked += 1
    if (event.type === 'DeliveriesAttempted') {
      for (const { at, sequence, replayId } of event.data.attempts) {
        if (replayId !== null || at < from || at > to) continue
        lowest = Math.min(lowest, sequence)
        highest = Math.max(highest, sequence)
      }
    }
    if (Date.parse(event.at) > to + LIMITS.webhookAttemptMs + RECORDING_MS) break
  }
  if (looked === LIMITS.webhookScanEvents) throw refusedError('the window is too long to be looked through')
  if (highest === 0) throw refusedError('nothing was tried between these instants')
  return { fromSequence: lowest, toSequence: highest }
}

/** How long an attempt that has ended may wait to be recorded, while the log is slow. */
const RECORDING_MS = 60_000

const refusedError = (problem: string): ServiceError =>
  new ServiceError('invalid_request', {
    message: `from, to: ${problem}`,
    details: { fields: [{ field: 'from', problem }] },
  })
