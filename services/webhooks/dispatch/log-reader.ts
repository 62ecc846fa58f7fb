import { setImmediate } from 'node:timers/promises'
import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { decodeEvent, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { EventStore } from '../../log/event-store.ts'
import { Matcher } from '../signals/matcher.ts'
import type { Matched } from '../signals/signal.ts'
import { MATCHER_EVENTS } from '../signals/signal-facts.ts'
import { SUBSCRIPTION_EVENTS, type Subscription } from '../state/subscription-state.ts'
import { weightOf } from './queued-signals.ts'

/** Takes what the reader finds. */
export interface SignalSink {
  /** A signal for an endpoint, from the tail, or from a stretch of the past. @returns false where there is no room */
  offer(matched: Matched, weight: number, source: 'tail' | 'behind'): boolean
  hasRoom(subscriptionId: string): boolean
  /** A subscription as it is now, where it may go along with the tail at this moment. */
  joining(subscriptionId: string): Subscription | undefined
  /** It goes along with the tail from here on. */
  joined(subscriptionId: string, cursor: DeliveryCursor): void
  /** The tail had a signal for which there was no room, and goes on without it. */
  leftBehind(subscriptionId: string, cursor: DeliveryCursor): void
  /** A stretch was read for one that is behind. */
  read(subscriptionId: string, cursor: DeliveryCursor, found: number): void
  readFailed(subscriptionIds: readonly string[], error: unknown): void
  /** An event of a subscription, after the signals that come before it in the log. */
  subscription(event: ServiceEvent): void
  /** Called after each event of the tail: resolves when the tail may go on; undefined where it need not wait. */
  whenRoom(): Promise<void> | undefined
}

export interface LogReaderOptions {
  readonly store: EventStore
  /** Position at which the tail begins, exclusive. */
  readonly after: Position
  readonly sink: SignalSink
  readonly signal: AbortSignal
}

/** An endpoint that is behind, and the cursor at which reading continues for it. */
interface Rider {
  readonly subscription: Subscription
  readonly cursor: DeliveryCursor
  found: number
}

const PASS_TYPES = [...new Set<string>([...MATCHER_EVENTS, ...SUBSCRIPTION_EVENTS])]
const OF_SUBSCRIPTIONS: ReadonlySet<string> = new Set(SUBSCRIPTION_EVENTS)
/** Events of the tail that are read before endpoints may join it. */
const PASS_EVENTS = 256
/** Events of one stretch, before the next stretch has its turn. */
const STRETCH_EVENTS = 5_000

/** Reads the log for all endpoints: its tail, and stretches of the past for endpoints that are behind. */
export function createLogReader({ store, after, sink, signal }: LogReaderOptions) {
  const tail = new Matcher({ store, after })
  let position = after
  /** Endpoints that are behind and are read for, or wait for it. */
  const riders = new Map<string, Rider>()
  let stretch: Matcher | undefined
  let waiting: Rider[] = []
  let isRiding = false
  /** The tail moves, or endpoints join it: one at a time. */
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const turn = last.then(work)
    // A fault goes to its caller and does not stop the next.
    last = turn.catch(() => undefined)
    return turn
  }

  /** The cursor of a rider, moved on to the position that was read. */
  const behind = (cursor: DeliveryCursor, looked: Position): DeliveryCursor =>
    comparePositions(cursor.after, looked) >= 0 ? cursor : { ...cursor, after: looked }

  /** @returns whether the end was reached, and what is to be waited for before it goes on */
  async function advance(): Promise<{ readonly isAtEnd: boolean; readonly room: Promise<void> | undefined }> {
    // The end is asked for first, so that what is not of interest need not be looked at again.
    const end = await store.head()
    let looked = 0
    const reading = { after: position, upTo: end, filter: { types: PASS_TYPES }, limit: PASS_EVENTS, signal }
    for await (const recorded of comparePositions(end, position) > 0 ? store.readAll(reading) : []) {
      const event = decodeEvent(recorded)
      const matched = await tail.match(event)
      offerFromPass(matched)
      position = event.position
      if (OF_SUBSCRIPTIONS.has(event.type)) sink.subscription(event)
      looked += 1
      const room = sink.whenRoom()
      if (room !== undefined) return { isAtEnd: false, room }
    }
    const isAtEnd = looked < PASS_EVENTS
    if (isAtEnd && !signal.aborted && comparePositions(end, position) > 0) position = end
    return { isAtEnd, room: undefined }
  }

  function offerFromPass(matched: readonly Matched[]): void {
    // An endpoint that falls behind with the first signal of an event reads the second again, too.
    let left: Set<string> | undefined
    for (const one of matched) {
      const { subscriptionId, sequence, signal: found } = one
      if (left?.has(subscriptionId) || sink.offer(one, weightOf(found, matched.length), 'tail')) continue
      left = (left ?? new Set()).add(subscriptionId)
      tail.detach(subscriptionId)
      sink.leftBehind(subscriptionId, { after: placeBefore(one, matched, position), sequence })
    }
  }

  async function ride(): Promise<void> {
    while (waiting.length > 0 && !signal.aborted) {
      const round = waiting.toSorted((a, b) => comparePositions(a.cursor.after, b.cursor.after))
      waiting = []
      for (let next = 0; next < round.length && !signal.aborted; ) next = await readStretch(round, next)
    }
    isRiding = false
  }

  const isRider = (rider: Rider): boolean => riders.get(rider.subscription.subscriptionId) === rider

  /** Reads a stretch for the riders within it. @returns the first rider after it */
  async function readStretch(round: readonly Rider[], first: number): Promise<number> {
    const aboard = new Map<string, Rider>()
    let next = first
    try {
      const matcher = new Matcher({ store, after: round[first]?.cursor.after ?? after })
      stretch = matcher
      const board = (upTo: Position): void => {
        for (; next < round.length; next++) {
          const rider = round[next]
          if (rider === undefined || comparePositions(rider.cursor.after, upTo) >= 0) return
          if (!isRider(rider)) continue
          matcher.attach(rider.subscription, rider.cursor)
          aboard.set(rider.subscription.subscriptionId, rider)
        }
      }
      const upTo = position
      const looked = await readPast(matcher, aboard, { upTo, limit: STRETCH_EVENTS, board })
      if (looked.isAtEnd) {
        const haveJoined = await inTurn(async () => {
          const rest = await readPast(matcher, aboard, { upTo: position, limit: Infinity, board })
          if (rest.isAtEnd) joinAll(matcher, aboard, round.slice(next))
          return rest.isAtEnd
        })
        return haveJoined ? round.length : next
      }
      for (const [id, rider] of aboard) {
        const cursor = isRider(rider) ? matcher.cursor(id) : undefined
        if (cursor !== undefined) leave(rider, behind(cursor, looked.position))
      }
      return next
    } catch (error) {
      const failed = [...(aboard.size > 0 ? aboard.values() : round.slice(next))].filter(isRider)
      const ids = failed.map(({ subscription }) => subscription.subscriptionId)
      for (const id of ids) riders.delete(id)
      if (!signal.aborted) sink.readFailed(ids, error)
      return aboard.size > 0 ? next : round.length
    } finally {
      stretch = undefined
    }
  }

  async function readPast(
    matcher: Matcher,
    aboard: Map<string, Rider>,
    { upTo, limit, board }: { upTo: Position; limit: number; board: (upTo: Position) => void },
  ): Promise<{ readonly isAtEnd: boolean; readonly position: Position }> {
    let [looked, before] = [0, matcher.position]
    const filter = { types: MATCHER_EVENTS }
    const reading = { after: matcher.position, upTo, filter, signal, ...(limit < Infinity && { limit }) }
    for await (const recorded of store.readAll(reading)) {
      const event = decodeEvent(recorded)
      board(event.position)
      const matched = await matcher.match(event)
      for (const one of matched) offerToRider(matcher, aboard, one, { before, matched })
      before = event.position
      looked += 1
      if (looked >= limit || aboard.size === 0) return { isAtEnd: false, position: before }
    }
    if (!signal.aborted) board(upTo)
    return { isAtEnd: !signal.aborted, position: upTo }
  }

  function offerToRider(
    matcher: Matcher,
    aboard: Map<string, Rider>,
    one: Matched,
    { before, matched }: { readonly before: Position; readonly matched: readonly Matched[] },
  ): void {
    const { subscriptionId, sequence, signal: found } = one
    const rider = aboard.get(subscriptionId)
    if (rider === undefined || !isRider(rider)) return
    const isTaken = sink.offer(one, weightOf(found, matched.length), 'behind')
    if (isTaken) rider.found += 1
    if (isTaken && sink.hasRoom(subscriptionId)) return
    matcher.detach(subscriptionId)
    aboard.delete(subscriptionId)
    const place = placeBefore(one, matched, before)
    leave(rider, isTaken ? { after: found.position, sequence: sequence + 1 } : { after: place, sequence })
  }

  /** Ends a rider's stretch; its endpoint calls `readFor` again where more is wanted. */
  function leave(rider: Rider, cursor: DeliveryCursor): void {
    const { subscriptionId } = rider.subscription
    riders.delete(subscriptionId)
    sink.read(subscriptionId, cursor, rider.found)
  }

  /** While the tail stands still: those that have come to it go along, and so do those that stand further on. */
  function joinAll(matcher: Matcher, aboard: ReadonlyMap<string, Rider>, further: readonly Rider[]): void {
    for (const rider of [...aboard.values(), ...further]) {
      const { subscriptionId } = rider.subscription
      if (!isRider(rider)) continue
      const reached = behind(matcher.cursor(subscriptionId) ?? rider.cursor, position)
      const subscription = sink.joining(subscriptionId)
      if (subscription === undefined) {
        leave(rider, reached)
        continue
      }
      riders.delete(subscriptionId)
      tail.attach(subscription, reached)
      sink.joined(subscriptionId, reached)
    }
  }

  return {
    /** Everything up to here was looked at. */
    get position(): Position {
      return position
    },
    /** Looks through what is new at the end of the log. */
    async follow(): Promise<void> {
      for (let isAtEnd = false; !isAtEnd && !signal.aborted; ) {
        const advanced = await inTurn(advance)
        isAtEnd = advanced.isAtEnd
        // Others may join while the tail waits.
        await advanced.room
      }
    },
    /** Shows the events of subscriptions between a position and the tail. */
    showSubscriptions: (from: Position): Promise<void> =>
      inTurn(async () => {
        if (comparePositions(from, position) >= 0) return
        const reading = { after: from, upTo: position, filter: { types: SUBSCRIPTION_EVENTS }, signal }
        for await (const recorded of store.readAll(reading)) sink.subscription(decodeEvent(recorded))
      }),
    /** Reads for one that is behind, together with others that are; it joins the tail at its end. */
    readFor(subscription: Subscription, cursor: DeliveryCursor): void {
      const rider = { subscription, cursor, found: 0 }
      riders.set(subscription.subscriptionId, rider)
      waiting.push(rider)
      if (isRiding) return
      isRiding = true
      // Those that are given together ride together.
      setImmediate()
        .then(ride)
        .catch((error: unknown) => sink.readFailed([], error))
    },
    /** Brings nothing more to a subscription. */
    detach(subscriptionId: string): void {
      tail.detach(subscriptionId)
      stretch?.detach(subscriptionId)
      riders.delete(subscriptionId)
    },
    /** The cursor of a subscription in the tail; undefined where it is not part of it. */
    cursor(subscriptionId: string): DeliveryCursor | undefined {
      const cursor = tail.cursor(subscriptionId)
      return cursor && behind(cursor, position)
    },
  }
}

/** The position before a signal of an event: the event before, or the first signal of the same event. */
const placeBefore = ({ subscriptionId, sequence }: Matched, matched: readonly Matched[], before: Position) =>
  matched.find((other) => other.subscriptionId === subscriptionId && other.sequence === sequence - 1)?.signal
    .position ?? before
