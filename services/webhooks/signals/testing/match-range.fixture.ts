import type { SubscriptionFilter } from '../../../../contracts/domain/subscription.ts'
import type { Call } from '../../../../contracts/domain/verdict.ts'
import type { DeliveryCursor } from '../../../../contracts/events/delivery-events.ts'
import { decodeEvent } from '../../../../contracts/events/event-catalogue.ts'
import { comparePositions, type Position } from '../../../../contracts/infra/position.ts'
import type { EventStore } from '../../../log/event-store.ts'
import type { Subscription } from '../../state/subscription-state.ts'
import { filterAt, topNOf, topOf } from '../filter.ts'
import type { Matched, Signal } from '../signal.ts'
import { toSignals } from '../to-signals.ts'

/** The facts that a signal is compared with, at its position in the log. */
interface Around {
  /** Place of its coin among those of its exchange, from 1; 0 where it is not ranked. */
  readonly rank: number
  /** Call of the verdict before it in its series. */
  readonly previousCall: Call | undefined
}

/**
 * The signals of one subscription in a part of the log, numbered from the cursor on: found by reading the whole log from
 * its beginning and asking each field of the filter in turn.
 */
export async function* matchRange(
  { store }: { readonly store: Pick<EventStore, 'readAll'> },
  { subscriptionId, filters }: Pick<Subscription, 'subscriptionId' | 'filters'>,
  from: DeliveryCursor,
  upTo: Position,
): AsyncGenerator<Matched, void, void> {
  const calls = new Map<string, Call>()
  const ranked = new Map<string, readonly string[]>()
  const periods = [...filters]
  let sequence = from.sequence
  for await (const recorded of store.readAll({ upTo })) {
    const event = decodeEvent(recorded)
    const { position } = event
    if (event.type === 'SubscriptionChanged' && event.data.subscriptionId === subscriptionId) {
      const isKnown = periods.some(({ after }) => after === position)
      if (!isKnown) periods.push({ after: position, filter: event.data.filter })
    }
    for (const signal of toSignals(event)) {
      // It may begin between two signals of an event.
      if (comparePositions(signal.position, from.after) <= 0) continue
      const rank = (ranked.get(signal.exchange) ?? []).indexOf(signal.coin ?? '') + 1
      const wanted = filterAt(periods, position)
      if (wanted === undefined || !isWanted(wanted, signal, { rank, previousCall: calls.get(signal.stream) }))
        continue
      yield { subscriptionId, sequence: sequence++, signal, topN: topNOf(wanted, signal) }
    }
    if (event.type === 'VerdictRecorded') calls.set(event.stream, event.data.call)
    if (event.type === 'UniverseRanked')
      ranked.set(
        event.data.exchange,
        event.data.coins.map(({ coin }) => coin),
      )
  }
}

function isWanted(filter: SubscriptionFilter, signal: Signal, { rank, previousCall }: Around): boolean {
  const { events, timeframes, exchanges, assets, digest, minConfidence, minStrength, onlyChanges } = filter
  if (signal.type === 'scan_digest') {
    const { timeframe, exchange, cadence } = signal.data
    const key = [timeframe, exchange, cadence].join()
    return (
      events.includes('scan_digest') && key === [digest?.timeframe, digest?.exchange, digest?.cadence].join()
    )
  }
  const isCall = signal.type === 'trade_call'
  const isTop = rank > 0 && rank <= topOf(filter)
  return (
    events.includes(signal.type) &&
    (timeframes === null || timeframes.includes(signal.timeframe)) &&
    (exchanges === null || exchanges.includes(signal.exchange)) &&
    (assets === null || assets.includes(signal.data.coin) || isTop) &&
    signal.data.confidence >= minConfidence &&
    (!isCall || signal.data.strength >= minStrength) &&
    (!isCall || !onlyChanges || signal.data.call !== previousCall)
  )
}
