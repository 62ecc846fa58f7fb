import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import { type AroundSignal, filterAt, isOfSeries, passesFilter, topNOf } from './passes-filter.ts'
import type { Matched, Signal } from './signal.ts'
import { createSignalFacts, MATCHER_EVENTS, type SignalFacts, toSignals } from './signal-facts.ts'

/** One event of the log that was looked at for a subscription, or one of the signals that it says. */
export interface Looked {
  readonly position: Position
  /** Undefined where it is no signal, or none that was asked for. */
  readonly matched: Matched | undefined
}

/** A subscription's filters, and when each was set. */
type Matchable = Pick<Subscription, 'subscriptionId' | 'filters'>

/**
 * Looks through a stretch of the log for one subscription: its signals with their numbers, as a matcher gives
 * them, and between them how far it has come. A filter set within the stretch counts even where the given
 * subscription does not know it yet.
 *
 * @param from the position after which to look, and the number of the first signal found
 * @param upTo inclusive
 */
export async function* lookThrough(
  store: Pick<EventStore, 'read' | 'readAll'>,
  { subscriptionId, filters }: Matchable,
  from: DeliveryCursor,
  upTo: Position,
): AsyncGenerator<Looked, void, void> {
  const facts = createSignalFacts({ store })
  const periods = [...filters]
  let sequence = from.sequence
  for await (const recorded of store.readAll({
    after: from.after,
    upTo,
    filter: { types: MATCHER_EVENTS },
  })) {
    const event = decodeEvent(recorded)
    const { position } = event
    if (event.type === 'SubscriptionChanged') {
      const isNew = !periods.some(({ after }) => after === position)
      if (event.data.subscriptionId === subscriptionId && isNew)
        periods.push({ after: position, filter: event.data.filter })
      continue
    }
    const signals = toSignals(event)
    for (const signal of signals) {
      // It may begin between two signals of an event.
      if (comparePositions(signal.position, from.after) <= 0) continue
      const wanted = filterAt(periods, position)
      const isMatched = wanted !== undefined && (await passesFilter(wanted, signal, aroundOf(signal, facts)))
      const matched = isMatched
        ? { subscriptionId, sequence: sequence++, signal, topN: topNOf(wanted, signal) }
        : undefined
      yield { position: signal.position, matched }
    }
    facts.see(event)
    if (signals.length === 0) yield { position, matched: undefined }
  }
}

const aroundOf = (signal: Signal, facts: SignalFacts): AroundSignal => ({
  rank: () => (isOfSeries(signal) ? facts.rank(signal) : undefined),
  previousCall: () => (signal.type === 'trade_call' ? facts.previousCall(signal) : undefined),
})
