import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { Cadence, SubscriptionFilter } from '../../../contracts/subscription.ts'
import { DAY_MS, HOUR_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import type { FilterPeriod } from '../state/subscription-state.ts'
import type { RegimeShiftSignal, Signal, TradeCallSignal } from './signal.ts'

export const CADENCE_MS: Readonly<Record<Cadence, number>> = {
  '1h': HOUR_MS,
  '4h': 4 * HOUR_MS,
  '1d': DAY_MS,
}

/** The unit of a signal's age: its bars, the periods of a digest, or the days of a notice; milliseconds. */
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

/**
 * The filter that applies to what stands at a position: the newest of those set before it. Undefined before the
 * first, where nothing is asked for.
 *
 * @param periods oldest first
 */
export function filterAt(
  periods: readonly FilterPeriod[],
  position: Position,
): SubscriptionFilter | undefined {
  for (let index = periods.length - 1; index >= 0; index--) {
    const period = periods[index]
    if (period !== undefined && comparePositions(period.after, position) < 0) return period.filter
  }
  return undefined
}

/** The largest N of a filter's `top:N`; 0 where it has none. */
export const topOf = ({ assets }: Pick<SubscriptionFilter, 'assets'>): number =>
  Math.max(
    0,
    ...(assets ?? []).filter((asset) => asset.startsWith('top:')).map((asset) => Number(asset.slice(4))),
  )

/** Whether a signal is of one series: others have no coin, and pass no thresholds. */
export const isOfSeries = (signal: Signal): signal is TradeCallSignal | RegimeShiftSignal =>
  signal.type === 'trade_call' || signal.type === 'regime_shift'

/** Whether a signal reaches the minimum confidence of a filter and, for a trade call, the minimum strength too. */
export const passesThresholds = (
  { minConfidence, minStrength }: Pick<SubscriptionFilter, 'minConfidence' | 'minStrength'>,
  signal: TradeCallSignal | RegimeShiftSignal,
): boolean =>
  signal.data.confidence >= minConfidence &&
  (signal.type === 'regime_shift' || signal.data.strength >= minStrength)

/** Whether a signal is sent only where its series said something else before. */
export const asksForChange = (
  { onlyChanges }: Pick<SubscriptionFilter, 'onlyChanges'>,
  signal: Signal,
): signal is TradeCallSignal => onlyChanges && signal.type === 'trade_call'

/** Rows of a digest that a filter asks for; null for what is no digest. */
export const topNOf = ({ digest }: SubscriptionFilter, signal: Signal): number | null =>
  signal.type === 'scan_digest' ? (digest?.topN ?? null) : null
