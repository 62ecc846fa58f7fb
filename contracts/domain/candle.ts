import { z } from 'zod'

/** Values beyond these bounds are damage. They would stay in the averages of their series for good. */
const [PRICE_MIN, PRICE_MAX, VOLUME_MAX] = [1e-15, 1e15, 1e21]

const price = z.number().min(PRICE_MIN).max(PRICE_MAX)

/** One closed bar. Times are Unix milliseconds, prices in the quote currency, volume in coins. */
export const candleSchema = z
  .object({
    openTime: z.int().nonnegative(),
    open: price,
    high: price,
    low: price,
    close: price,
    volume: z.number().nonnegative().max(VOLUME_MAX),
  })
  .refine(({ low, open, close }) => low <= Math.min(open, close), 'low is above open or close')
  .refine(({ high, open, close }) => high >= Math.max(open, close), 'high is below open or close')

export type Candle = Readonly<z.infer<typeof candleSchema>>

/**
 * Why a bar cannot be a bar, or undefined when it can. Plain comparisons instead of the schema, because
 * feeds check millions of rows.
 *
 * @example candleFault({ openTime: 0, open: 1, high: 1, low: 2, close: 1, volume: 0 }) === 'low 2 is above open or close'
 */
export function candleFault(bar: Candle): string | undefined {
  const { openTime, open, high, low, close, volume } = bar
  if (!Number.isSafeInteger(openTime) || openTime < 0) return `open time ${openTime} is not a time`
  const found = cellFault(open, high, low, close, volume)
  if (found === undefined) return undefined
  const { column, fault } = found
  return `${column === 'volume' || fault.endsWith('close') ? column : 'price'} ${bar[column]} ${fault}`
}

/** The same rule for the numbers of a row beside its time, naming the column of a file. */
export function cellFault(open: number, high: number, low: number, close: number, volume: number) {
  // What nearly all bars are; the low and the high bound the other two.
  const isOrdered = low <= Math.min(open, close) && high >= Math.max(open, close)
  if (isOrdered && low >= PRICE_MIN && high <= PRICE_MAX && volume >= 0 && volume <= VOLUME_MAX)
    return undefined
  const fault = (column: Exclude<keyof Candle, 'openTime'>, text: string) => ({ column, fault: text })
  for (const [column, value] of Object.entries({ open, high, low, close })) {
    if (value >= PRICE_MIN && value <= PRICE_MAX) continue
    const isPositive = value > 0 && value < Number.POSITIVE_INFINITY
    return fault(
      column as 'open',
      isPositive ? `is not from ${PRICE_MIN} to ${PRICE_MAX}` : 'is not a positive number',
    )
  }
  if (!(volume >= 0 && volume < Number.POSITIVE_INFINITY)) return fault('volume', 'is not a number from 0')
  if (volume > VOLUME_MAX) return fault('volume', `is above ${VOLUME_MAX}`)
  if (low > Math.min(open, close)) return fault('low', 'is above open or close')
  return fault('high', 'is below open or close')
}

/**
 * One funding settlement. `rate` is the fraction longs pay shorts for one interval, never normalised:
 * intervals differ by venue and by contract (1 h, 4 h, 8 h), so the interval travels with the rate.
 */
export const fundingRateSchema = z.object({
  time: z.int().nonnegative(),
  rate: z.number().gte(-1).lte(1),
  intervalHours: z.number().positive().lte(48),
})
export type FundingRate = Readonly<z.infer<typeof fundingRateSchema>>

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
