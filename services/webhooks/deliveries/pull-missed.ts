import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { withMove } from './delivery-state.ts'
import { mayPull } from './may-pull.ts'
import { type PreparedDelivery, prepareAgain } from './prepare-delivery.ts'
import { numberedDeliveries, readDeliveries } from './read-deliveries.ts'

export interface PullOptions {
  readonly store: Pick<EventStore, 'read'>
  /** Market time, Unix milliseconds: signals whose window is open then are not for everybody. */
  readonly marketNow: () => number
  /** Public address of this service, without a slash at its end. */
  readonly baseUrl: () => string
}

export interface MissedPage {
  readonly rows: readonly PreparedDelivery[]
  /** Cursor of the next page; null where no further signal may be pulled now. A page may be short or empty before that. */
  readonly next: string | null
}

const READS_AT_ONCE = 8

/** The signals after a sequence that were tried. The page ends before the first that may not be pulled yet. */
export async function pullMissed(
  { store, marketNow, baseUrl }: PullOptions,
  subscription: Subscription,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<MissedPage> {
  const from = parseAfter(after)
  const most = Math.min(limit, LIMITS.webhookRows)
  const state = withMove(await readDeliveries(store, subscription), subscription)
  const newest = state.cursor.sequence - 1
  const last = Math.min(newest, from + most)
  if (last <= from) return { rows: [], next: null }
  const numbered = await numberedDeliveries(store, subscription.subscriptionId, from + 1, last)
  const prepared = await mapConcurrently(numbered, READS_AT_ONCE, (place) =>
    prepareAgain(store, place, baseUrl()),
  )
  const asOf = marketNow()
  const end = prepared.findIndex(({ signal }) => !mayPull(signal, state, asOf))
  if (end >= 0) return { rows: prepared.slice(0, end), next: null }
  return { rows: prepared, next: last < newest ? String(last) : null }
}

function parseAfter(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new ServiceError('invalid_request', {
    message: `after: must be a sequence or the \`next\` of an answer, not ${JSON.stringify(text.slice(0, 64))}`,
  })
}
