import type { DeliveryCursor } from '../../../../contracts/delivery-events.ts'
import { decodeEvent } from '../../../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../../../contracts/position.ts'
import type { SubscriptionFilter } from '../../../../contracts/subscription.ts'
import type { Call } from '../../../../contracts/verdict.ts'
import type { EventStore } from '../../../log/event-store.ts'
import type { Subscription } from '../../state/subscription-state.ts'
import { asksForChange, isOfSeries, passesThresholds, topNOf, topOf } from '../passes-filter.ts'
import type { Matched, ScanDigestSignal, Signal } from '../signal.ts'
import { createSignalFacts, MATCHER_EVENTS, type SignalFacts, toSignals } from '../signal-facts.ts'

/**
 * The signals of one subscription in a stretch of the log, numbered from the cursor on: found by looking at each
 * filter field in turn, without an index.
 */
export async function* matchRange(
  { store }: { readonly store: Pick<EventStore, 'read' | 'readAll'> },
  { subscriptionId, filters }: Pick<Subscription, 'subscriptionId' | 'filters'>,
  from: DeliveryCursor,
  upTo: Position,
): AsyncGenerator<Matched, void, void> {
  const facts = createSignalFacts({ store })
  const periods = [...filters]
  let sequence = from.sequence
  const reading = { after: from.after, upTo, filter: { types: MATCHER_EVENTS } }
  for await (const recorded of store.readAll(reading)) {
    const event = decodeEvent(recorded)
    const { position } = event
    if (event.type === 'SubscriptionChanged') {
      const isNew = !periods.some(({ after }) => after === position)
      if (event.data.subscriptionId === subscriptionId && isNew)
        periods.push({ after: position, filter: event.data.filter })
      continue
    }
    for (const signal of toSignals(event)) {
      // It may begin between two signals of an event.
      if (comparePositions(signal.position, from.after) <= 0) continue
      const wanted = filterAt(periods, position)
      if (wanted === undefined || !(await passesFilter(wanted, signal, aroundOf(signal, facts)))) continue
      yield { subscriptionId, sequence: sequence++, signal, topN: topNOf(wanted, signal) }
    }
    facts.see(event)
  }
}

const aroundOf = (signal: Signal, facts: SignalFacts): AroundSignal => ({
  rank: () => (isOfSeries(signal) ? facts.rank(signal) : undefined),
  previousCall: () => (signal.type === 'trade_call' ? facts.previousCall(signal) : undefined),
})

/** Facts about a signal that are not in it. Looked up only when a filter needs them. */
interface AroundSignal {
  /** Place of its coin among those of its exchange by volume, from 1; undefined where it is not ranked. */
  readonly rank: () => Promise<number | undefined> | number | undefined
  /** Call of the verdict before it in its series; undefined for the first. */
  readonly previousCall: () => Promise<Call | undefined> | Call | undefined
}

/** Whether one filter lets one signal through. */
async function passesFilter(
  filter: SubscriptionFilter,
  signal: Signal,
  around: AroundSignal,
): Promise<boolean> {
  if (!filter.events.includes(signal.type)) return false
  if (signal.type === 'scan_digest') return passesDigest(filter, signal)
  if (filter.timeframes !== null && !filter.timeframes.includes(signal.timeframe)) return false
  if (!passesThresholds(filter, signal)) return false
  if (filter.exchanges !== null && !filter.exchanges.includes(signal.exchange)) return false
  if (filter.assets !== null && !filter.assets.includes(signal.data.coin)) {
    const top = topOf(filter)
    const rank = top === 0 ? undefined : await around.rank()
    if (rank === undefined || rank > top) return false
  }
  return !asksForChange(filter, signal) || signal.data.call !== (await around.previousCall())
}

const passesDigest = ({ digest }: SubscriptionFilter, { data }: ScanDigestSignal): boolean =>
  digest !== null &&
  digest.timeframe === data.timeframe &&
  digest.exchange === data.exchange &&
  digest.cadence === data.cadence

/**
 * The filter that applies to what stands at a position: the newest of those set before it. Undefined before the
 * first, where nothing is asked for.
 *
 * @param periods oldest first
 */
function filterAt(periods: Subscription['filters'], position: Position): SubscriptionFilter | undefined {
  for (let index = periods.length - 1; index >= 0; index--) {
    const period = periods[index]
    if (period !== undefined && comparePositions(period.after, position) < 0) return period.filter
  }
  return undefined
}
