import { isServiceError } from '../../../contracts/errors/errors.ts'
import { SIGNAL_EVENTS } from '../signals/to-signals.ts'
import { SUBSCRIPTION_EVENTS } from '../state/subscription-state.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'

/** The subject on the bus that dispatchers listen to. */
export const SIGNALS_SUBJECT = 'signals'

export interface SignalRelayOptions extends Pick<DispatcherOptions, 'store' | 'bus' | 'report'> {
  readonly signal: AbortSignal
}

/**
 * Follows the log from its end and wakes the dispatchers at each signal and each change of a subscription. Dispatchers
 * read the log themselves every second, so a lost notification costs that second and nothing else. Resolves when the
 * signal is aborted.
 *
 * @example const relaying = relaySignals({ store, bus, signal, report })
 */
export async function relaySignals({ store, bus, signal, report }: SignalRelayOptions): Promise<void> {
  const filter = { types: [...SIGNAL_EVENTS, ...SUBSCRIPTION_EVENTS] }
  for await (const item of store.subscribe({ after: 'end', filter, signal })) {
    if (item.kind !== 'event') continue
    try {
      await bus.notify(SIGNALS_SUBJECT)
    } catch (error) {
      // The bus itself reports an outage, once; each signal during it would say the same again.
      if (!signal.aborted && !isServiceError(error, 'dependency_unavailable')) report(error)
    }
  }
}
