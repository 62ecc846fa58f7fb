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
