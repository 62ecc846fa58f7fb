import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { Subscription } from '../../../projections/index.ts'
import { mapInTurns } from '../../platform/async/map-in-turns.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { DeliveryLog } from '../deliveries/delivery-log.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { Matched } from '../signals/signal.ts'
import type { SubscriptionDirectory } from './dispatcher-options.ts'
import { createLane, type Lane, mayBegin } from './lane.ts'
import type { HeldShard, LaneBook } from './lane-book.ts'
import { createSignalPass, type SignalPass } from './signal-pass.ts'

export interface AdmissionOptions {
  readonly store: EventStore
  readonly directory: SubscriptionDirectory
  readonly deliveries: DeliveryLog
  readonly book: LaneBook
  readonly pass: SignalPass
  readonly whileStill: <Value>(work: () => Promise<Value>) => Promise<Value>
  readonly now: () => number
  readonly onMatched: (matched: Matched) => void
  readonly onSubscription: (event: ServiceEvent) => void
  readonly whenRoom: () => Promise<void> | undefined
  /** An endpoint is in the book; with what its delivery log says. */
  readonly onAdmitted: (lane: Lane, state: Deliveries) => Promise<void>
  /** An endpoint was found that no pass brings signals to. */
  readonly onStray: (lane: Lane) => void
  readonly signal: AbortSignal
}

/** Endpoints that stand so little behind share one pass; others read for themselves. */
const SHARED_BEHIND_MS = HOUR_MS
const LOADS_AT_ONCE = 32
/** A shared pass that is that many rounds behind joins while the other one stands still. */
const ROUNDS = 4

/**
 * Takes up the subscriptions of shards that were gained: loads how far each has come, and brings those that stand
 * near the end of the log there together, in one pass from the oldest of their cursors.
 */
export async function admitShards(options: AdmissionOptions, shards: readonly HeldShard[]): Promise<void> {
  const { directory, book, now, onAdmitted } = options
  const { position, subscriptions } = await directory.all()
  const wanted = new Map(shards.map((held) => [held.shard, held]))
  const own: Subscription[] = []
  for (const subscription of subscriptions) {
    if (wanted.has(book.shardOf(subscription.subscriptionId))) own.push(subscription)
  }
  const lanes = await mapInTurns(own, LOADS_AT_ONCE, async (subscription) => {
    const state = await options.deliveries.load(subscription)
    const held = wanted.get(book.shardOf(subscription.subscriptionId))
    if (held === undefined || held !== book.shard(held.shard)) return undefined
    if (book.get(subscription.subscriptionId) !== undefined) return undefined
    const { shard, token } = held
    const lane = createLane(subscription, { shard, token, cursor: state.cursor, at: now() })
    book.add(lane)
    await onAdmitted(lane, state)
    return lane
  })
  await bringTogether(
    options,
    lanes.filter((lane) => lane !== undefined),
    position,
  )
}

/** Opens one pass for all that are near, and hands them over where it meets the main one. */
async function bringTogether(
  options: AdmissionOptions,
  lanes: readonly Lane[],
  seen: Position,
): Promise<void> {
  const { store, pass, whileStill, onMatched, onSubscription, whenRoom, signal } = options
  const near = await nearLanes(store, lanes, options.now())
  const oldest = near[0]?.readFrom.after ?? seen
  // What changed behind the directory's position is seen here too.
  const after = comparePositions(oldest, seen) < 0 ? oldest : seen
  const shared = createSignalPass({ store, after, onMatched, onSubscription, whenRoom, signal })
  for (const lane of near) {
    if (lane.isClosed || lane.mode === 'live' || !mayBegin(lane) || lane.health.state === 'degraded') continue
    shared.attach(lane.subscription, lane.readFrom)
    lane.pass = shared
    lane.mode = 'live'
    lane.epoch += 1
  }
  for (let round = 0; round < ROUNDS && comparePositions(shared.position, pass.position) < 0; round++) {
    await shared.advance(pass.position)
  }
  await whileStill(async () => {
    if (comparePositions(shared.position, pass.position) < 0) await shared.advance(pass.position)
    for (const lane of near) {
      if (lane.pass !== shared) continue
      const cursor = shared.detach(lane.subscription.subscriptionId)
      // The pass lets nobody go by itself; a lane that it lost all the same reads for itself.
      if (cursor === undefined) {
        options.onStray(lane)
        continue
      }
      pass.attach(lane.subscription, cursor)
      lane.pass = pass
    }
  })
}

/** Those whose cursors stand near the end of the log, the oldest first. */
async function nearLanes(store: EventStore, lanes: readonly Lane[], now: number): Promise<Lane[]> {
  const sorted = lanes.toSorted((a, b) => comparePositions(a.readFrom.after, b.readFrom.after))
  const newest = sorted.at(-1)
  if (newest === undefined) return []
  const newestAt = await timeBehind(store, newest.readFrom.after)
  const end = Number.isFinite(newestAt) ? newestAt : now
  let [far, near] = [-1, sorted.length - 1]
  while (near - far > 1) {
    const middle = Math.floor((far + near) / 2)
    const at = await timeBehind(store, sorted[middle]?.readFrom.after ?? newest.readFrom.after)
    if (end - at <= SHARED_BEHIND_MS) near = middle
    else far = middle
  }
  return sorted.slice(near)
}

/** When the log went on behind a position; the end of time where it has not. */
async function timeBehind(store: EventStore, after: Position): Promise<number> {
  for await (const { at } of store.readAll({ after, limit: 1 })) return Date.parse(at)
  return Number.POSITIVE_INFINITY
}
