import { setImmediate } from 'node:timers/promises'
import { assert } from '../../../contracts/assert.ts'
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

/** One reading of the past. */
interface Stretch {
  readonly matcher: Matcher
  /** Riders in the order of their cursors, and the first that is not in the stretch yet. */
  readonly round: readonly Rider[]
  next: number
  readonly aboard: Map<string, Rider>
}

const PASS_TYPES = [...new Set<string>([...MATCHER_EVENTS, ...SUBSCRIPTION_EVENTS])]
const OF_SUBSCRIPTIONS: ReadonlySet<string> = new Set(SUBSCRIPTION_EVENTS)
/** Events of the tail that are read before endpoints may join it. */
const PASS_EVENTS = 256
/** Events of one stretch, before the next stretch has its turn. */
const STRETCH_EVENTS = 5_000

/** Reads the log for all endpoints: its tail, and stretches of the past for endpoints that are behind. */
export class LogReader {
  readonly #store: EventStore
  readonly #sink: SignalSink
  readonly #signal: AbortSignal
  readonly #tail: Matcher
  #position: Position
  /** Endpoints that are behind and are read for, or wait for it. */
  readonly #riders = new Map<string, Rider>()
  #stretch: Matcher | undefined
  #waiting: Rider[] = []
  #isRiding = false
  /** The tail moves, or endpoints join it: one at a time. */
  #last: Promise<unknown> = Promise.resolve()

  constructor({ store, after, sink, signal }: LogReaderOptions) {
    this.#store = store
    this.#sink = sink
    this.#signal = signal
    this.#tail = new Matcher({ store, after })
    this.#position = after
  }

  /** Everything up to here was looked at. */
  get position(): Position {
    return this.#position
  }

  /** Looks through what is new at the end of the log. */
  async follow(): Promise<void> {
    for (let isAtEnd = false; !isAtEnd && !this.#signal.aborted; ) {
      const advanced = await this.#inTurn(() => this.#advance())
      isAtEnd = advanced.isAtEnd
      // Others may join while the tail waits.
      await advanced.room
    }
  }

  /** Shows the events of subscriptions between a position and the tail. */
  showSubscriptions(from: Position): Promise<void> {
    return this.#inTurn(async () => {
      const upTo = this.#position
      if (comparePositions(from, upTo) >= 0) return
      const reading = { after: from, upTo, filter: { types: SUBSCRIPTION_EVENTS }, signal: this.#signal }
      for await (const recorded of this.#store.readAll(reading))
        this.#sink.subscription(decodeEvent(recorded))
    })
  }

  /** Reads for one that is behind, together with others that are; it joins the tail at its end. */
  readFor(subscription: Subscription, cursor: DeliveryCursor): void {
    const rider = { subscription, cursor, found: 0 }
    this.#riders.set(subscription.subscriptionId, rider)
    this.#waiting.push(rider)
    if (this.#isRiding) return
    this.#isRiding = true
    // Those that are given together ride together.
    setImmediate()
      .then(() => this.#ride())
      .catch((error: unknown) => this.#sink.readFailed([], error))
  }

  /** Brings nothing more to a subscription. */
  detach(subscriptionId: string): void {
    this.#tail.detach(subscriptionId)
    this.#stretch?.detach(subscriptionId)
    this.#riders.delete(subscriptionId)
  }

  /** The cursor of a subscription in the tail; undefined where it is not part of it. */
  cursor(subscriptionId: string): DeliveryCursor | undefined {
    const cursor = this.#tail.cursor(subscriptionId)
    return cursor && movedOn(cursor, this.#position)
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const turn = this.#last.then(work)
    // A fault goes to its caller and does not stop the next.
    this.#last = turn.catch(() => undefined)
    return turn
  }

  #moveTo(position: Position): void {
    assert(comparePositions(position, this.#position) >= 0, 'the tail only moves on', position)
    this.#position = position
  }

  /** @returns whether the end was reached, and what is to be waited for before it goes on */
  async #advance(): Promise<{ readonly isAtEnd: boolean; readonly room: Promise<void> | undefined }> {
    // The end is asked for first, so that what is not of interest need not be looked at again.
    const end = await this.#store.head()
    const [after, signal] = [this.#position, this.#signal]
    if (comparePositions(end, after) <= 0) return { isAtEnd: true, room: undefined }
    let looked = 0
    const reading = { after, upTo: end, filter: { types: PASS_TYPES }, limit: PASS_EVENTS, signal }
    for await (const recorded of this.#store.readAll(reading)) {
      const event = decodeEvent(recorded)
      this.#offerFromTail(await this.#tail.match(event))
      this.#moveTo(event.position)
      if (OF_SUBSCRIPTIONS.has(event.type)) this.#sink.subscription(event)
      looked += 1
      const room = this.#sink.whenRoom()
      if (room !== undefined) return { isAtEnd: false, room }
    }
    const isAtEnd = looked < PASS_EVENTS
    if (isAtEnd && !signal.aborted && comparePositions(end, this.#position) > 0) this.#moveTo(end)
    return { isAtEnd, room: undefined }
  }

  #offerFromTail(matched: readonly Matched[]): void {
    // An endpoint that falls behind with the first signal of an event reads the second again, too.
    let left: Set<string> | undefined
    for (const one of matched) {
      const { subscriptionId, sequence, signal: found } = one
      if (left?.has(subscriptionId) || this.#sink.offer(one, weightOf(found, matched.length), 'tail'))
        continue
      left = (left ?? new Set()).add(subscriptionId)
      this.#tail.detach(subscriptionId)
      this.#sink.leftBehind(subscriptionId, { after: placeBefore(one, matched, this.#position), sequence })
    }
  }

  async #ride(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#signal.aborted) {
      const round = this.#waiting.toSorted((a, b) => comparePositions(a.cursor.after, b.cursor.after))
      this.#waiting = []
      for (let next = 0; next < round.length && !this.#signal.aborted; )
        next = await this.#readStretch(round, next)
    }
    this.#isRiding = false
  }

  readonly #isRider = (rider: Rider): boolean => this.#riders.get(rider.subscription.subscriptionId) === rider

  /** Reads a stretch for the riders within it. @returns the first rider after it */
  async #readStretch(round: readonly Rider[], first: number): Promise<number> {
    const after = round[first]?.cursor.after ?? this.#position
    const matcher = new Matcher({ store: this.#store, after })
    const stretch: Stretch = { matcher, round, next: first, aboard: new Map() }
    this.#stretch = matcher
    try {
      const looked = await this.#readPast(stretch, this.#position, STRETCH_EVENTS)
      if (looked.isAtEnd) return (await this.#inTurn(() => this.#join(stretch))) ? round.length : stretch.next
      for (const [id, rider] of stretch.aboard) {
        const cursor = this.#isRider(rider) ? matcher.cursor(id) : undefined
        if (cursor !== undefined) this.#leave(rider, movedOn(cursor, looked.position))
      }
      return stretch.next
    } catch (error) {
      const { aboard, next } = stretch
      const failed = [...(aboard.size > 0 ? aboard.values() : round.slice(next))].filter(this.#isRider)
      const ids = failed.map(({ subscription }) => subscription.subscriptionId)
      for (const id of ids) this.#riders.delete(id)
      if (!this.#signal.aborted) this.#sink.readFailed(ids, error)
      return aboard.size > 0 ? next : round.length
    } finally {
      this.#stretch = undefined
    }
  }

  /** Adds riders whose cursor lies before a position to the stretch. */
  #board(stretch: Stretch, upTo: Position): void {
    const { round, matcher, aboard } = stretch
    for (; stretch.next < round.length; stretch.next++) {
      const rider = round[stretch.next]
      if (rider === undefined || comparePositions(rider.cursor.after, upTo) >= 0) return
      if (!this.#isRider(rider)) continue
      matcher.attach(rider.subscription, rider.cursor)
      aboard.set(rider.subscription.subscriptionId, rider)
    }
  }

  async #readPast(
    stretch: Stretch,
    upTo: Position,
    limit = Number.POSITIVE_INFINITY,
  ): Promise<{ readonly isAtEnd: boolean; readonly position: Position }> {
    const { matcher, aboard } = stretch
    const signal = this.#signal
    let [looked, before] = [0, matcher.position]
    const filter = { types: MATCHER_EVENTS }
    const reading = { after: before, upTo, filter, signal, ...(limit < Infinity && { limit }) }
    for await (const recorded of this.#store.readAll(reading)) {
      const event = decodeEvent(recorded)
      this.#board(stretch, event.position)
      const matched = await matcher.match(event)
      for (const one of matched) this.#offerToRider(stretch, one, { before, matched })
      before = event.position
      looked += 1
      if (looked >= limit || aboard.size === 0) return { isAtEnd: false, position: before }
    }
    if (!signal.aborted) this.#board(stretch, upTo)
    return { isAtEnd: !signal.aborted, position: upTo }
  }

  #offerToRider(
    { matcher, aboard }: Stretch,
    one: Matched,
    { before, matched }: { readonly before: Position; readonly matched: readonly Matched[] },
  ): void {
    const { subscriptionId, sequence, signal: found } = one
    const rider = aboard.get(subscriptionId)
    if (rider === undefined || !this.#isRider(rider)) return
    const isTaken = this.#sink.offer(one, weightOf(found, matched.length), 'behind')
    if (isTaken) rider.found += 1
    if (isTaken && this.#sink.hasRoom(subscriptionId)) return
    matcher.detach(subscriptionId)
    aboard.delete(subscriptionId)
    const place = placeBefore(one, matched, before)
    this.#leave(
      rider,
      isTaken ? { after: found.position, sequence: sequence + 1 } : { after: place, sequence },
    )
  }

  /** Ends a rider's stretch; its endpoint calls `readFor` again where more is wanted. */
  #leave(rider: Rider, cursor: DeliveryCursor): void {
    const { subscriptionId } = rider.subscription
    assert(cursor.sequence >= rider.cursor.sequence, 'reading never goes back', cursor.sequence)
    this.#riders.delete(subscriptionId)
    this.#sink.read(subscriptionId, cursor, rider.found)
  }

  /**
   * While the tail stands still: reads the rest, then those that have come to it go along, and so do those that stand
   * further on. @returns whether the end was reached
   */
  async #join(stretch: Stretch): Promise<boolean> {
    const rest = await this.#readPast(stretch, this.#position)
    if (!rest.isAtEnd) return false
    for (const rider of [...stretch.aboard.values(), ...stretch.round.slice(stretch.next)]) {
      const { subscriptionId } = rider.subscription
      if (!this.#isRider(rider)) continue
      const reached = movedOn(stretch.matcher.cursor(subscriptionId) ?? rider.cursor, this.#position)
      const subscription = this.#sink.joining(subscriptionId)
      if (subscription === undefined) {
        this.#leave(rider, reached)
        continue
      }
      this.#riders.delete(subscriptionId)
      this.#tail.attach(subscription, reached)
      this.#sink.joined(subscriptionId, reached)
    }
    return true
  }
}

/** A cursor moved on to the position that was read. */
const movedOn = (cursor: DeliveryCursor, looked: Position): DeliveryCursor =>
  comparePositions(cursor.after, looked) >= 0 ? cursor : { ...cursor, after: looked }

/** The position before a signal of an event: the event before, or the first signal of the same event. */
const placeBefore = ({ subscriptionId, sequence }: Matched, matched: readonly Matched[], before: Position) =>
  matched.find((other) => other.subscriptionId === subscriptionId && other.sequence === sequence - 1)?.signal
    .position ?? before
