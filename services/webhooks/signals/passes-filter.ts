import type { Cadence, SubscriptionFilter } from '../../../contracts/subscription.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import type { RegimeShiftSignal, Signal, TradeCallSignal } from './signal.ts'

export const CADENCE_MS: Readonly<Record<Cadence, number>> = {
  '1h': HOUR_MS,
  '4h': 4 * HOUR_MS,
  '1d': DAY_MS,
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
