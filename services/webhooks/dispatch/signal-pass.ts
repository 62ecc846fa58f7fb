import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { decodeEvent, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { createMatcher, MATCHER_EVENTS } from '../signals/matcher.ts'
import type { Matched } from '../signals/signal.ts'
import { SUBSCRIPTION_EVENTS } from './signal-relay.ts'

/** One way through the log for many subscriptions. */
export interface SignalPass {
  /** Everything up to here was looked at. */
  readonly position: Position
  readonly size: number
  /** Looks through what is in the log behind the position; up to the end as it is now, or to a position. */
  advance(upTo?: Position): Promise<void>
  /** Takes a subscription along whose cursor is not behind the pass. */
  attach(subscription: Subscription, cursor: DeliveryCursor): void
  /** Lets it go; where its numbering stands, undefined where it was not along. */
  detach(subscriptionId: string): DeliveryCursor | undefined
  cursor(subscriptionId: string): DeliveryCursor | undefined
}

export interface SignalPassOptions {
  readonly store: EventStore
  /** Where it begins, exclusive. */
  readonly after: Position
  readonly onMatched: (matched: Matched) => void
  /** Asked behind each event: what is to be waited for before the pass goes on; undefined where nothing is. */
  readonly whenRoom?: () => Promise<void> | undefined
  /** Told of events of subscriptions, behind what was matched before them. */
  readonly onSubscription: (event: ServiceEvent) => void
  readonly signal: AbortSignal
}

const PASS_TYPES = [...new Set<string>([...MATCHER_EVENTS, ...SUBSCRIPTION_EVENTS])]
const OF_SUBSCRIPTIONS: ReadonlySet<string> = new Set(SUBSCRIPTION_EVENTS)

/** A pass matches in the order of the log, and is never behind what it has said: the log is read, not remembered. */
export function createSignalPass(options: SignalPassOptions): SignalPass {
  const { store, after, onMatched, onSubscription, whenRoom, signal } = options
  const matcher = createMatcher({ store, after })
  let position = after
  const cursorNow = (cursor: DeliveryCursor | undefined): DeliveryCursor | undefined =>
    // The matcher names the newest event it was shown; nothing stands between that and here.
    cursor === undefined || comparePositions(cursor.after, position) >= 0
      ? cursor
      : { ...cursor, after: position }

  return {
    get position() {
      return position
    },
    get size() {
      return matcher.size
    },
    async advance(upTo) {
      // The end is asked for first, so that what is not of interest need not be looked at again.
      const end = upTo ?? (await store.head())
      if (comparePositions(end, position) <= 0) return
      const reading = { after: position, upTo: end, filter: { types: PASS_TYPES }, signal }
      for await (const recorded of store.readAll(reading)) {
        const event = decodeEvent(recorded)
        for (const matched of await matcher.match(event)) onMatched(matched)
        position = event.position
        if (OF_SUBSCRIPTIONS.has(event.type)) onSubscription(event)
        const room = whenRoom?.()
        if (room !== undefined) await room
      }
      if (!signal.aborted) position = end
    },
    attach: (subscription, cursor) => matcher.attach(subscription, cursor),
    detach: (subscriptionId) => cursorNow(matcher.detach(subscriptionId)),
    cursor: (subscriptionId) => cursorNow(matcher.cursor(subscriptionId)),
  }
}
