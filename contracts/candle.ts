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
  const found = cellFault(open, high, low, close, volume)
  if (found === undefined) return undefined
  const isPrice = found.column !== 'volume' && !found.fault.endsWith('close')
  return `${isPrice ? 'price' : found.column} ${bar[found.column]} ${found.fault}`
}

/** The same rule for the numbers of a row beside its time, naming the column of a file. */
export function cellFault(open: number, high: number, low: number, close: number, volume: number) {
  const prices = { open, high, low, close }
  for (const column of ['open', 'high', 'low', 'close'] as const) {
    const price = prices[column]
    if (price >= PRICE_MIN && price <= PRICE_MAX) continue
    const isPositive = price > 0 && price < Number.POSITIVE_INFINITY
    const fault = isPositive ? `is not from ${PRICE_MIN} to ${PRICE_MAX}` : 'is not a positive number'
    return { column, fault }
  }
  if (!(volume >= 0 && volume < Number.POSITIVE_INFINITY))
    return { column: 'volume' as const, fault: 'is not a number from 0' }
  if (volume > VOLUME_MAX) return { column: 'volume' as const, fault: `is above ${VOLUME_MAX}` }
  if (low > Math.min(open, close)) return { column: 'low' as const, fault: 'is above open or close' }
  return high < Math.max(open, close)
    ? { column: 'high' as const, fault: 'is below open or close' }
    : undefined
}
