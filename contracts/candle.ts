import { z } from 'zod'

/** One closed bar. Times are Unix milliseconds, prices in the quote currency, volume in coins. */
export interface Candle {
  readonly openTime: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: number
}

/** Values beyond these bounds are damage. They would stay in the averages of their series for good. */
const [PRICE_MIN, PRICE_MAX, VOLUME_MAX] = [1e-15, 1e15, 1e21]

const price = z.number().min(PRICE_MIN).max(PRICE_MAX)

export const candleSchema = z
  .object({
    openTime: z.int().nonnegative(),
    open: price,
    high: price,
    low: price,
    close: price,
    volume: z.number().nonnegative().max(VOLUME_MAX),
  })
  .refine((bar) => bar.low <= Math.min(bar.open, bar.close), 'low is above open or close')
  .refine((bar) => bar.high >= Math.max(bar.open, bar.close), 'high is below open or close')

/**
 * Why a bar cannot be a bar, or undefined when it can. Plain comparisons instead of the schema, because
 * feeds check millions of rows.
 *
 * @example candleFault({ openTime: 0, open: 1, high: 1, low: 2, close: 1, volume: 0 }) === 'low 2 is above open or close'
 */
export function candleFault(bar: Candle): string | undefined {
  const { openTime, open, high, low, close, volume } = bar
  if (!Number.isSafeInteger(openTime) || openTime < 0) return `open time ${openTime} is not a time`
  for (const value of [open, high, low, close]) {
    if (!(value > 0 && value < Number.POSITIVE_INFINITY)) return `price ${value} is not a positive number`
    if (value < PRICE_MIN || value > PRICE_MAX)
      return `price ${value} is not from ${PRICE_MIN} to ${PRICE_MAX}`
  }
  if (!(volume >= 0 && volume < Number.POSITIVE_INFINITY)) return `volume ${volume} is not a number from 0`
  if (volume > VOLUME_MAX) return `volume ${volume} is above ${VOLUME_MAX}`
  if (low > Math.min(open, close)) return `low ${low} is above open or close`
  if (high < Math.max(open, close)) return `high ${high} is below open or close`
  return undefined
}
