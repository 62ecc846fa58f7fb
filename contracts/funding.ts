import { z } from 'zod'

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
