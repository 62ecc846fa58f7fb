import { DAY_MS, MINUTE_MS } from '../../../contracts/timeframes.ts'

/** Quarter hours of a day, and how much the price moves in each of them: variance, 1 on average over the week. */
export const QUARTERS_PER_DAY = 96
const QUARTER_MS = 15 * MINUTE_MS
const QUARTERS_PER_WEEK = 7 * QUARTERS_PER_DAY
const WEEK_MS = 7 * DAY_MS
/** The Unix epoch was a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** Markets are livelier at some hours than at others, and quieter at weekends; funding is settled at fixed ones. */
export interface DayProfile {
  readonly weekday: readonly number[]
  readonly saturday: readonly number[]
  readonly sunday: readonly number[]
}

/** Which quarter hour of the week an instant lies in, Monday first; with its fraction. */
export const quarterOfWeek = (timeMs: number): number =>
  ((timeMs - FIRST_MONDAY_MS + WEEK_MS) % WEEK_MS) / QUARTER_MS

/**
 * Mean of the profile over a stretch of time, in UTC, of a week at most.
 *
 * @example seasonOf(profile)(openTime, HOUR_MS) // 1.4: the hour moves as 1.4 average ones do
 */
export function seasonOf({ weekday, saturday, sunday }: DayProfile): (from: number, ms: number) => number {
  const week = [...Array.from({ length: 5 }, () => weekday).flat(), ...saturday, ...sunday]
  // Two weeks, so that a stretch may go over the end of one.
  const sums = new Float64Array(2 * QUARTERS_PER_WEEK + 2)
  for (let quarter = 0; quarter <= 2 * QUARTERS_PER_WEEK; quarter++)
    sums[quarter + 1] = (sums[quarter] ?? 0) + (week[quarter % QUARTERS_PER_WEEK] ?? 1)
  const until = (quarter: number): number => {
    const whole = Math.floor(quarter)
    const below = sums[whole] ?? 0
    return below + (quarter - whole) * ((sums[whole + 1] ?? 0) - below)
  }
  return (from, ms) => {
    const quarter = quarterOfWeek(from)
    const length = ms / QUARTER_MS
    return (until(quarter + length) - until(quarter)) / length
  }
}
