import type { Cadence, SubscriptionFilter } from '../../../contracts/domain/subscription.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { comparePositions, type Position } from '../../../contracts/infra/position.ts'
import type { FilterPeriod } from '../state/subscription-state.ts'
import type { FoundSignal } from './found-signals.ts'
import type { Signal } from './signal.ts'

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

/** Rows of a digest that a filter asks for; null for other signals. */
export const topNOf = ({ digest }: SubscriptionFilter, signal: Signal): number | null =>
  signal.type === 'scan_digest' ? (digest?.topN ?? null) : null

/**
 * The filter that applies at a position: the newest of those set before it. Undefined before the first.
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

/** Whether a filter lets a signal through. A promise where something of the log has to be read for that. */
export function passes(filter: SubscriptionFilter, found: FoundSignal): boolean | Promise<boolean> {
  const { signal } = found
  if (!filter.events.includes(signal.type)) return false
  if (signal.type === 'scan_digest') {
    const { digest } = filter
    const { timeframe, exchange, cadence } = signal.data
    return digest?.timeframe === timeframe && digest.exchange === exchange && digest.cadence === cadence
  }
  const { timeframes, exchanges, assets, minConfidence, minStrength, onlyChanges } = filter
  if (timeframes !== null && !timeframes.includes(signal.timeframe)) return false
  if (exchanges !== null && !exchanges.includes(signal.exchange)) return false
  if (signal.data.confidence < minConfidence) return false
  if (signal.type === 'trade_call' && signal.data.strength < minStrength) return false
  const isWanted = (): boolean | Promise<boolean> =>
    onlyChanges && signal.type === 'trade_call'
      ? once(found.previousCall(), (before) => before !== signal.data.call)
      : true
  if (assets === null || assets.includes(signal.data.coin)) return isWanted()
  const top = topOf(filter)
  if (top === 0) return false
  return once(found.rank(), (rank) => rank !== undefined && rank <= top && isWanted())
}

const once = <Value>(
  value: Value | Promise<Value>,
  then: (value: Value) => boolean | Promise<boolean>,
): boolean | Promise<boolean> => (value instanceof Promise ? value.then(then) : then(value))
