import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { wasAttempted } from '../deliveries/delivery-state.ts'
import { lookThrough } from '../signals/match-range.ts'
import type { Matched } from '../signals/signal.ts'
import { type Lane, mayBegin } from './lane.ts'
import type { SignalPass } from './signal-pass.ts'

export interface CatchUpOptions {
  readonly store: EventStore
  /** The pass that subscriptions join when they have caught up. */
  readonly pass: SignalPass
  /** Does something while the pass stands still. */
  readonly whileStill: <Value>(work: () => Promise<Value>) => Promise<Value>
  readonly now: () => number
  readonly perSecond: number
  /** Something was read for it. */
  readonly onRead: (lane: Lane) => void
  /** It is to be read for again at the end of its pause. */
  readonly onPause: (lane: Lane) => void
  readonly signal: AbortSignal
}

/** Endpoints that are behind the pass, each of which reads its own stretch of the log in its own time. */
export interface CatchUp {
  /** Reads on, as far as there is room; joins the pass at its end. Nothing happens for one that may not send. */
  read(lane: Lane): Promise<void>
  /** A signal of the pass: queued, or left for later where the queue is full. */
  offer(lane: Lane, matched: Matched): void
  /** Whether the next signal of the pass would be left for later. */
  readonly isFull: (lane: Lane) => boolean
  /** Takes an endpoint out of the pass; what was queued is dropped, and read again from its delivery log's cursor. */
  readonly fallBehind: (lane: Lane) => void
  /** How many signals wait in memory in all; in between it is estimated from above. */
  recount(queued: number): void
}

/** Looked at without a match before others have their turn. */
const EVENTS_AT_A_TIME = 20_000
const FIRST_EVENTS = LIMITS.webhookQueue
/** A stretch so short is read while the pass stands still, so that it ends where the pass does. */
const SHORT_EVENTS = 500
/** How soon it is tried again where the log could not be read. */
const AGAIN_MS = 5_000
/** With more than so many signals waiting in all, no endpoint keeps more than a few in memory. */
const CROWDED = 65_536
const CROWDED_QUEUE = 16

export function createCatchUp(options: CatchUpOptions): CatchUp {
  const { store, pass, whileStill, now, perSecond, onRead, onPause, signal } = options
  /** Signals in memory since they were counted, those that have been sent meanwhile included. */
  let crowd = 0
  const most = (): number => (crowd > CROWDED ? CROWDED_QUEUE : LIMITS.webhookQueue)

  const isAlong = (lane: Lane, epoch: number): boolean =>
    lane.epoch === epoch && lane.mode === 'behind' && mayBegin(lane) && !signal.aborted

  function take(lane: Lane, matched: Matched): void {
    const { sequence } = matched
    const isKnown =
      lane.underWay.has(sequence) || (lane.journal && wasAttempted(lane.journal.state, sequence))
    if (isKnown === true) return
    lane.queue.push(matched)
    crowd += 1
  }

  /** Reads from where the lane stands; answers how many events it looked at, and whether it came to the end. */
  async function readUpTo(lane: Lane, upTo: string, room: number, epoch: number, limit = EVENTS_AT_A_TIME) {
    let [looked, found] = [0, 0]
    const reading = lookThrough({ store, limit, signal }, lane.subscription, lane.readFrom, upTo)
    for await (const { position, matched } of reading) {
      if (!isAlong(lane, epoch)) return { looked, found, isAtEnd: false }
      looked += 1
      const sequence = matched === undefined ? lane.readFrom.sequence : matched.sequence + 1
      if (matched !== undefined) {
        take(lane, matched)
        found += 1
      }
      lane.readFrom = { after: position, sequence }
      if (found >= room || looked >= limit) return { looked, found, isAtEnd: false }
    }
    if (!isAlong(lane, epoch)) return { looked, found, isAtEnd: false }
    lane.readFrom = { ...lane.readFrom, after: upTo }
    return { looked, found, isAtEnd: true }
  }

  /** Reads the rest while the pass stands still, and goes with it from there. */
  async function join(lane: Lane, epoch: number): Promise<void> {
    await whileStill(async () => {
      const room = most() - lane.queue.length
      const { isAtEnd } = await readUpTo(lane, pass.position, room, epoch)
      if (!isAtEnd || !isAlong(lane, epoch) || lane.health.state === 'degraded') return
      pass.attach(lane.subscription, lane.readFrom)
      lane.pass = pass
      lane.mode = 'live'
    })
  }

  async function readOn(lane: Lane, epoch: number): Promise<void> {
    let limit: number = FIRST_EVENTS
    for (let isShort = false; isAlong(lane, epoch); ) {
      const isProbed = lane.health.state === 'degraded'
      const room = (isProbed ? 1 : most()) - lane.queue.length
      if (lane.pausedUntil > now()) return onPause(lane)
      if (room <= 0) return
      if (isShort && !isProbed) {
        await join(lane, epoch)
        onRead(lane)
        return
      }
      const { looked, found, isAtEnd } = await readUpTo(lane, pass.position, room, epoch, limit)
      // What is read and not taken is read again: as much at a time as it takes to fill the queue.
      limit = Math.min(limit * 2, EVENTS_AT_A_TIME)
      if (found > 0) {
        lane.pausedUntil = now() + (found * 1_000) / perSecond
        onRead(lane)
      }
      if (isProbed && (isAtEnd || found > 0)) return
      isShort = isAtEnd && looked < SHORT_EVENTS
      if (isShort) lane.pausedUntil = 0
    }
  }

  return {
    isFull: (lane) => lane.queue.length >= most(),
    recount(queued) {
      crowd = queued
    },
    async read(lane) {
      if (lane.isReading || lane.mode === 'live' || !mayBegin(lane)) return
      lane.isReading = true
      try {
        await readOn(lane, lane.epoch)
      } catch (error) {
        lane.pausedUntil = now() + AGAIN_MS
        onPause(lane)
        throw error
      } finally {
        lane.isReading = false
      }
    },
    offer(lane, matched) {
      if (lane.queue.length < most()) {
        take(lane, matched)
        return
      }
      const last = lane.queue.at(-1)
      lane.pass?.detach(lane.subscription.subscriptionId)
      lane.pass = undefined
      lane.mode = 'behind'
      lane.epoch += 1
      // Between the last that is queued and this one the endpoint had nothing.
      const after = last?.signal.position ?? lane.readFrom.after
      lane.readFrom = { after, sequence: matched.sequence }
    },
    fallBehind(lane) {
      const cursor = lane.pass?.detach(lane.subscription.subscriptionId)
      const isDone = lane.queue.length === 0 && lane.underWay.size === 0
      lane.queue.length = 0
      lane.pass = undefined
      lane.mode = 'behind'
      lane.epoch += 1
      const written = lane.journal?.state.cursor
      if (written !== undefined) lane.readFrom = written
      // Nothing was in hand: what the pass has seen need not be read again.
      if (cursor !== undefined && isDone && cursor.sequence === lane.readFrom.sequence) lane.readFrom = cursor
    },
  }
}
