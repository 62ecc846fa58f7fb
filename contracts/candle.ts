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

/** A cell of a row that cannot be one of a bar, and why. */
interface CellFault {
  readonly cell: 'open' | 'high' | 'low' | 'close' | 'volume'
  readonly fault: string
}

const PRICES = ['open', 'high', 'low', 'close'] as const

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
  const { cell, fault } = found
  const isPrice = cell !== 'volume' && !fault.endsWith('open or close')
  return `${isPrice ? 'price' : cell} ${bar[cell]} ${fault}`
}

/** The same rule for the numbers of a row beside its time, so that a reader of files can name the column. */
export function cellFault(
  open: number,
  high: number,
  low: number,
  close: number,
  volume: number,
): CellFault | undefined {
  // Where all of this holds, each of the four prices is within the bounds.
  const isOrdered = low <= Math.min(open, close) && high >= Math.max(open, close)
  if (isOrdered && low >= PRICE_MIN && high <= PRICE_MAX && volume >= 0 && volume <= VOLUME_MAX)
    return undefined
  for (const [index, value] of [open, high, low, close].entries()) {
    const fault = priceFault(value)
    if (fault !== undefined) return { cell: PRICES[index] as CellFault['cell'], fault }
  }
  if (!(volume >= 0 && volume < Number.POSITIVE_INFINITY))
    return { cell: 'volume', fault: 'is not a number from 0' }
  if (volume > VOLUME_MAX) return { cell: 'volume', fault: `is above ${VOLUME_MAX}` }
  if (low > Math.min(open, close)) return { cell: 'low', fault: 'is above open or close' }
  if (high < Math.max(open, close)) return { cell: 'high', fault: 'is below open or close' }
  return undefined
}

function priceFault(value: number): string | undefined {
  if (!(value > 0 && value < Number.POSITIVE_INFINITY)) return 'is not a positive number'
  return value < PRICE_MIN || value > PRICE_MAX ? `is not from ${PRICE_MIN} to ${PRICE_MAX}` : undefined
}
