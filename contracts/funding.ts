import { z } from 'zod'
import { LIMITS } from './limits.ts'
import { MINUTE_MS, type Timeframe, timeframeMs } from './timeframes.ts'

/**
 * One funding settlement. `rate` is the fraction longs pay shorts for one interval, never normalised:
 * intervals differ by venue and by contract (1 h, 4 h, 8 h), so the interval travels with the rate.
 */
export interface FundingRate {
  readonly time: number
  readonly rate: number
  readonly intervalHours: number
}

export const fundingRateSchema = z.object({
  time: z.int().nonnegative(),
  rate: z.number().gte(-1).lte(1),
  intervalHours: z.number().positive().lte(48),
})

/**
 * A settlement counts for bars that close this much later than it, or more: venues publish it within a minute or so,
 * and a bar is to have the same inputs when it closes as in hindsight, live, replayed and in training.
 */
export const FUNDING_COUNTS_AFTER_MS = 2 * MINUTE_MS

/** @param barClose Unix milliseconds */
export const countsForBar = ({ time }: FundingRate, barClose: number): boolean =>
  time + FUNDING_COUNTS_AFTER_MS <= barClose

/**
 * The earliest settlement that counts in a series: a start fetches funding for fewer days than the bars of longer
 * timeframes reach back, and what it could not know must not count for a process that computes its verdicts again. It
 * follows from the first bar alone, never from when a process began.
 *
 * @param anchorBar open of the bar that the state of the series begins with, Unix milliseconds
 * @returns Unix milliseconds; a settlement at that instant counts
 * @example fundingCountsFrom('1h', 0) === 1_620 * 3_600_000 - 35 * 86_400_000
 */
export const fundingCountsFrom = (timeframe: Timeframe, anchorBar: number): number =>
  anchorBar + Math.max(0, LIMITS.historyBars * timeframeMs(timeframe) - LIMITS.fundingCountsMs)

const HOURS_PER_YEAR = 8_760

/** Simple (not compounded) yearly fraction of a rate at its own interval. */
export const annualisedFunding = (funding: FundingRate): number =>
  (funding.rate * HOURS_PER_YEAR) / funding.intervalHours

/**
 * Why a settlement cannot be one, or undefined when it can.
 *
 * @example fundingFault({ time: 0, rate: Number.NaN, intervalHours: 8 }) === 'rate NaN is not from −1 to 1'
 */
export function fundingFault({ time, rate, intervalHours }: FundingRate): string | undefined {
  if (!Number.isSafeInteger(time) || time < 0) return `time ${time} is not a time`
  if (!(rate >= -1 && rate <= 1)) return `rate ${rate} is not from −1 to 1`
  if (!(intervalHours > 0 && intervalHours <= 48))
    return `interval of ${intervalHours} hours is not one up to 48`
  return undefined
}
