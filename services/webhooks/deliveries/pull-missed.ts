import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { isPosition, type Position } from '../../../contracts/position.ts'
import type { EventStore } from '../../log/event-store.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import { lookThrough } from '../signals/look-through.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { type Deliveries, withMove } from './delivery-state.ts'
import { mayPull } from './may-pull.ts'
import { type PreparedDelivery, prepareAgain, prepareDelivery } from './prepare-delivery.ts'
import { numberedDeliveries, readDeliveries } from './read-deliveries.ts'

export interface PullOptions {
  readonly store: Pick<EventStore, 'read' | 'readAll' | 'head'>
  readonly idOf: FactId
  /** Address of this service, without a slash at its end, for bodies that were never sent. */
  readonly baseUrl: () => string
  /** Market time, Unix milliseconds: signals whose window is open then are not for everybody. */
  readonly marketNow: () => number
}

export interface MissedPage {
  readonly rows: readonly PreparedDelivery[]
  /** Cursor of the next page; null where no further signal may be pulled now. A page may be short or empty before that. */
  readonly next: string | null
}

const READS_AT_ONCE = 8

/**
 * The signals after a sequence: attempted ones as the log has them, the others as they will be sent. The page ends
 * before the first that may not be pulled yet.
 */
export async function pullMissed(
  options: PullOptions,
  subscription: Subscription,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<MissedPage> {
  const { store } = options
  const from = parseAfter(after)
  const most = Math.min(limit, LIMITS.webhookRows)
  const state = withMove(await readDeliveries(store, subscription), subscription)
  const lastAttempted = Math.min(state.cursor.sequence - 1, from.sequence + most)
  if (lastAttempted <= from.sequence) return pullAhead(options, subscription, state, from, most)
  const numbered = await numberedDeliveries(
    store,
    subscription.subscriptionId,
    from.sequence + 1,
    lastAttempted,
  )
  const prepared = await mapConcurrently(numbered, READS_AT_ONCE, (place) => prepareAgain(store, place))
  const marketNow = options.marketNow()
  const end = prepared.findIndex((row) => !mayPull(row, subscription, state, marketNow))
  if (end >= 0) return { rows: prepared.slice(0, end), next: null }
  const rows = prepared
  if (rows.length === most || lastAttempted < state.cursor.sequence - 1) {
    return { rows, next: String(lastAttempted) }
  }
  const begin = { sequence: lastAttempted, position: undefined }
  const ahead = await pullAhead(options, subscription, state, begin, most - rows.length)
  return { rows: [...rows, ...ahead.rows], next: ahead.next }
}

/** Signals after the cursor, with the numbers that they will have. */
async function pullAhead(
  { store, idOf, baseUrl, marketNow }: PullOptions,
  subscription: Subscription,
  state: Deliveries,
  from: After,
  most: number,
): Promise<MissedPage> {
  const { cursor } = state
  const isKnown = from.position !== undefined && from.sequence >= cursor.sequence - 1
  const begin = isKnown ? { after: from.position ?? cursor.after, sequence: from.sequence + 1 } : cursor
  const rows: PreparedDelivery[] = []
  let { sequence } = begin
  let looked = 0
  for await (const { position, matched } of lookThrough(store, subscription, begin, await store.head())) {
    if (matched !== undefined) {
      if (!mayPull(matched, subscription, state, marketNow())) return { rows, next: null }
      assert(matched.sequence >= sequence, 'numbers only rise', matched.sequence)
      sequence = matched.sequence + 1
      if (matched.sequence > from.sequence) rows.push(prepareDelivery(matched, { idOf, baseUrl: baseUrl() }))
    }
    assert(rows.length <= most, 'a page has its rows at most', rows.length)
    if (rows.length === most || ++looked === LIMITS.webhookPullEvents) {
      return { rows, next: `${sequence - 1}~${position}` }
    }
  }
  return { rows, next: null }
}

/** The last number that is known, and, where a page told it, how far the log was looked through for it. */
interface After {
  readonly sequence: number
  readonly position: Position | undefined
}

function parseAfter(text: string): After {
  const [, sequence, position] = /^(\d{1,15})(?:~(.{1,41}))?$/.exec(text) ?? []
  if (sequence !== undefined && (position === undefined || isPosition(position))) {
    return { sequence: Number(sequence), position }
  }
  throw new ServiceError('invalid_request', {
    message: `after: must be a sequence or the \`next\` of an answer, not ${JSON.stringify(text.slice(0, 64))}`,
  })
}
