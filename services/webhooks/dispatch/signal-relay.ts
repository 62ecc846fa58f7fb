import { decodeEvent, type EventType, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { Bus } from '../../platform/bus/bus.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { SIGNAL_EVENTS, toSignals } from '../signals/signal-facts.ts'

/** Events of subscriptions that dispatchers obey. */
export const SUBSCRIPTION_EVENTS = [
  'SubscriptionCreated',
  'SubscriptionChanged',
  'SecretRotated',
  'SecretOverlapEnded',
  'SubscriptionPaused',
  'SubscriptionResumed',
  'SubscriptionDegraded',
  'SubscriptionRecovered',
  'SubscriptionDisabled',
  'SubscriptionAllowed',
  'SubscriptionRemoved',
  'ReplayRequested',
  'ReplayCancelled',
] as const satisfies readonly EventType[]

/** What dispatchers consume: everything a relay publishes. */
export const RELAYED_SUBJECTS = 'signal.>'

export interface SignalRelayOptions {
  readonly store: EventStore
  readonly bus: Bus
  readonly signal: AbortSignal
  /** Told of what could not be published; dispatchers find it in the log. */
  readonly report: (error: unknown) => void
}

/**
 * Follows the log and tells dispatchers that there is something for them: the position of each signal, and of what
 * changes a subscription, under the event's id. Resolves when the signal is aborted. It begins at the end of the log,
 * since whatever it misses dispatchers read there themselves, a second later.
 *
 * @example const relaying = relaySignals({ store, bus, signal, report })
 */
export async function relaySignals({ store, bus, signal, report }: SignalRelayOptions): Promise<void> {
  const filter = { types: [...SIGNAL_EVENTS, ...SUBSCRIPTION_EVENTS] }
  for await (const item of store.subscribe({ after: 'end', filter, signal })) {
    if (item.kind !== 'event') continue
    try {
      const { id, position } = item.event
      const subject = subjectOf(decodeEvent(item.event))
      if (subject !== undefined) await bus.publish({ id, subject, body: { position } })
    } catch (error) {
      // A bus that is away costs a second of latency; whatever else it is must be seen, and stops nothing either.
      if (!signal.aborted) report(error)
    }
  }
}

/**
 * Under which subject an event is told of; undefined for a verdict that says nothing to anybody.
 *
 * @example subjectOf(event) === 'signal.trade_call.SIM.BTC.1m'
 */
export function subjectOf(event: ServiceEvent): string | undefined {
  const [signal] = toSignals(event)
  if (signal === undefined) return event.type === 'VerdictRecorded' ? undefined : 'signal.subscription'
  const { type, exchange, coin, timeframe } = signal
  // A scan is about no single coin, and a notice of a model about all exchanges.
  return ['signal', type, exchange, coin, timeframe].filter((token) => token !== null).join('.')
}
