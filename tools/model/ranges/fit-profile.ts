import type { Candle } from '../../../contracts/candle.ts'
import {
  barVariance,
  type DayProfile,
  QUARTERS_PER_DAY,
  quarterOfWeek,
} from '../../../services/engine/forecast/range-model.ts'

/** Quarter hours of two days, whose average a quarter hour is compared with. */
const LEVEL_BARS = 2 * QUARTERS_PER_DAY
/** A crash is no habit of its hour. */
const MOST_RELATIVE = 8

/** Sums of what quarter hours of the week had, relative to the level of their days. */
export interface ProfileSums {
  readonly sums: Float64Array
  readonly counts: Float64Array
}

const DAYS = ['weekday', 'saturday', 'sunday'] as const

export const noProfileSums = (): ProfileSums => ({
  sums: new Float64Array(DAYS.length * QUARTERS_PER_DAY),
  counts: new Float64Array(DAYS.length * QUARTERS_PER_DAY),
})

/** Adds the bars of a history of quarter hours. */
export function addToProfile({ sums, counts }: ProfileSums, bars: readonly Candle[]): void {
  let level = 0
  for (const [index, bar] of bars.entries()) {
    const variance = barVariance(bar, bars[index - 1]?.close ?? bar.open)
    if (index > LEVEL_BARS) {
      const quarter = Math.floor(quarterOfWeek(bar.openTime))
      const day = Math.max(0, Math.floor(quarter / QUARTERS_PER_DAY) - 4)
      const at = day * QUARTERS_PER_DAY + (quarter % QUARTERS_PER_DAY)
      sums[at] = (sums[at] ?? 0) + Math.min(MOST_RELATIVE, variance / level)
      counts[at] = (counts[at] ?? 0) + 1
    }
    level += (variance - level) / Math.min(index + 1, LEVEL_BARS)
  }
}

/** The profile that the sums make: 1 on average over the week, and 1 where there is nothing to tell. */
export function profileOf({ sums, counts }: ProfileSums): DayProfile {
  const mean = [...sums].reduce((sum, value) => sum + value, 0) / [...counts].reduce((sum, n) => sum + n, 0)
  const day = (index: number): number[] =>
    Array.from({ length: QUARTERS_PER_DAY }, (_, quarter) => {
      const at = index * QUARTERS_PER_DAY + quarter
      const count = counts[at] ?? 0
      return count === 0 ? 1 : (sums[at] ?? 0) / count / mean
    })
  return { weekday: day(0), saturday: day(1), sunday: day(2) }
}
