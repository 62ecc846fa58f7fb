import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { SubscriptionFilter } from '../../../contracts/subscription.ts'
import type { FilterPeriod } from '../../../projections/index.ts'

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
