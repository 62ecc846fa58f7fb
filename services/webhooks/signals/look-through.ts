import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { Position } from '../../../contracts/position.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { Matcher } from './matcher.ts'
import type { Matched } from './signal.ts'
import { MATCHER_EVENTS } from './signal-facts.ts'

/** One event of the log that was looked at for a subscription, or one of the signals that it says. */
export interface Looked {
  readonly position: Position
  /** Undefined where it is no signal, or none that was asked for. */
  readonly matched: Matched | undefined
}

/**
 * Looks through a stretch of the log for one subscription: its signals with their numbers, and between them how far it
 * has come. A filter set within the stretch counts even where the given subscription does not know it yet.
 *
 * @param from the position after which to look, and the number of the first signal found
 * @param upTo inclusive
 */
export async function* lookThrough(
  store: Pick<EventStore, 'read' | 'readAll'>,
  subscription: Pick<Subscription, 'subscriptionId' | 'filters'>,
  from: DeliveryCursor,
  upTo: Position,
): AsyncGenerator<Looked, void, void> {
  const { after } = from
  const matcher = new Matcher({ store, after })
  matcher.attach(subscription, from)
  for await (const recorded of store.readAll({ after, upTo, filter: { types: MATCHER_EVENTS } })) {
    const found = await matcher.match(decodeEvent(recorded))
    for (const matched of found) yield { position: matched.signal.position, matched }
    if (found.length === 0) yield { position: recorded.position, matched: undefined }
  }
}
