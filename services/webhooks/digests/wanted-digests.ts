import type { Subscription } from '../../../projections/index.ts'
import type { WantedDigest } from './due-digests.ts'

/**
 * The digests that subscriptions ask for as they are now. Those that are paused or disabled count too: their place in
 * the log stands still, and what they did not see is to be there when they go on.
 *
 * @example createDigestRecorder({ wanted: () => wantedDigests(directory.all()), … })
 */
export function* wantedDigests(
  subscriptions: Iterable<Pick<Subscription, 'state' | 'filters'>>,
): Generator<WantedDigest> {
  for (const { state, filters } of subscriptions) {
    if (state === 'removed') continue
    const { events, digest } = filters.at(-1)?.filter ?? { events: [], digest: null }
    if (digest === null || !events.includes('scan_digest')) continue
    const { exchange, timeframe, cadence } = digest
    yield { exchange, timeframe, cadence }
  }
}
