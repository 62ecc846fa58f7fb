import { DAY_MS, HOUR_MS, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { HOURS_TOLD, hourOf } from '../../../services/engine/forecast/range-model.ts'
import { withinShares } from './fit-range.ts'

/** Moves in expected ones, with when their bar closed and their window was over. */
export interface TimedRatios {
  readonly closes: ArrayLike<number>
  readonly ends: ArrayLike<number>
  readonly plain: ArrayLike<number>
}

/** Habits of the day change; those of older bars are forgotten. */
export const HABIT_DAYS = 730
/** Windows of longer bars hold most of a day. */
const LONGEST_BAR_MS = HOUR_MS
const FEWEST = 20_000
const FEWEST_OF_HOUR = 500
/** Windows of an hour that count as one, for they overlap and coins move together; and so many are needed for half of a factor. */
const [WINDOWS_AS_ONE, HALF_SURE] = [40, 30]

/**
 * The part of the hours of two years, weekends apart, in how far prices go, beside what the profile of the day
 * knows: a factor on the expected move for each. Undefined where there is too little to tell.
 */
export function hourFactors(
  timeframe: Timeframe,
  { closes, ends, plain }: TimedRatios,
  until: number,
): readonly number[] | undefined {
  if (timeframeMs(timeframe) > LONGEST_BAR_MS) return undefined
  const byHour = Array.from({ length: HOURS_TOLD }, (): number[] => [])
  const all: number[] = []
  for (let at = 0; at < plain.length; at++) {
    const close = closes[at] ?? 0
    if ((ends[at] ?? 0) > until || close <= until - HABIT_DAYS * DAY_MS) continue
    all.push(plain[at] ?? 0)
    byHour[hourOf(close)]?.push(plain[at] ?? 0)
  }
  if (all.length < FEWEST) return undefined
  const usual = withinShares(Float64Array.from(all)).outer
  return byHour.map((own) => {
    if (own.length < FEWEST_OF_HOUR) return 1
    const windows = own.length / WINDOWS_AS_ONE
    const log = Math.log(withinShares(Float64Array.from(own)).outer / usual)
    return Math.exp((log * windows) / (windows + HALF_SURE))
  })
}
