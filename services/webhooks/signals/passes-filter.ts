import type { SubscriptionFilter } from '../../../contracts/subscription.ts'
import type { Call } from '../../../contracts/verdict.ts'
import { topOf } from './filter-periods.ts'
import type { RegimeShiftSignal, ScanDigestSignal, Signal, TradeCallSignal } from './signal.ts'

/** What a filter asks about a signal beyond the signal itself. Told only when it matters. */
export interface AroundSignal {
  /** Place of its coin among those of its exchange by volume, from 1; undefined where it is not ranked. */
  readonly rank: () => Promise<number | undefined> | number | undefined
  /** What the verdict before it in its series said; undefined for the first. */
  readonly previousCall: () => Promise<Call | undefined> | Call | undefined
}

/** Whether one filter lets one signal through. What many filters do at once is told by the signal index. */
export async function passesFilter(
  filter: SubscriptionFilter,
  signal: Signal,
  around: AroundSignal,
): Promise<boolean> {
  if (!filter.events.includes(signal.type)) return false
  if (signal.type === 'scan_digest') return passesDigest(filter, signal)
  if (filter.timeframes !== null && !filter.timeframes.includes(signal.timeframe)) return false
  if (signal.type === 'model_notice') return true
  if (!passesThresholds(filter, signal)) return false
  if (filter.exchanges !== null && !filter.exchanges.includes(signal.exchange)) return false
  if (filter.assets !== null && !filter.assets.includes(signal.data.coin)) {
    const top = topOf(filter)
    const rank = top === 0 ? undefined : await around.rank()
    if (rank === undefined || rank > top) return false
  }
  return !asksForChange(filter, signal) || signal.data.call !== (await around.previousCall())
}

/** Whether a signal is of one series: others have no coin, and pass no thresholds. */
export const isOfSeries = (signal: Signal): signal is TradeCallSignal | RegimeShiftSignal =>
  signal.type === 'trade_call' || signal.type === 'regime_shift'

const passesDigest = ({ digest }: SubscriptionFilter, { data }: ScanDigestSignal): boolean =>
  digest !== null &&
  digest.timeframe === data.timeframe &&
  digest.exchange === data.exchange &&
  digest.cadence === data.cadence

/** Whether a signal is as sure and as strong as is asked for. */
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
