import type { Cadence, SubscriptionFilter } from '../../../contracts/subscription.ts'
import { DAY_MS, HOUR_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import type { Signal } from './signal.ts'

const CADENCE_MS: Readonly<Record<Cadence, number>> = { '1h': HOUR_MS, '4h': 4 * HOUR_MS, '1d': DAY_MS }

/** What a signal's age is counted in: its bars, the periods of a digest, or the days of a notice; milliseconds. */
function periodMs(signal: Signal): number {
  if (signal.type === 'scan_digest') return CADENCE_MS[signal.data.cadence]
  return signal.type === 'model_notice' ? DAY_MS : timeframeMs(signal.timeframe)
}

/**
 * Whether a signal is older than a subscription cares for when its turn to be sent comes. This never decides
 * which number it has: numbers come from the log and the filters alone, so that they are the same however often
 * and whenever they are worked out. A stale signal that is to be skipped is recorded as such under its number.
 *
 * @param marketNow market time at which it would be sent, Unix milliseconds
 * @example isStale(signal, { policy: 'skip', maxBars: 2 }, now) && 'not sent'
 */
export const isStale = (
  signal: Signal,
  { policy, maxBars }: SubscriptionFilter['freshness'],
  marketNow: number,
): boolean => policy !== 'all' && marketNow - signal.barClose > maxBars * periodMs(signal)
