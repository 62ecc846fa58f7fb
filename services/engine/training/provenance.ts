import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Series, seriesSchema } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import { recipeSchema } from './recipe.ts'
import type { SeriesHistory } from './series-history.ts'

const timeMs = z.int().nonnegative()

/** One series that a model was fitted or calibrated on. */
export const usedSeriesSchema = z.strictObject({
  ...seriesSchema.shape,
  /** Open of the first and close of the last bar, Unix milliseconds. */
  from: timeMs,
  to: timeMs,
  bars: z.int().positive(),
  fundingRates: z.int().nonnegative(),
  /** Of the content, by `historyChecksum`. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})

export type UsedSeries = z.infer<typeof usedSeriesSchema>

/** Where the numbers of a model come from. */
export const provenanceSchema = z.strictObject({
  recipe: recipeSchema,
  /** What the races of its label are. */
  label: z.strictObject({
    /** One barrier on either side, so many deviations of the move to be expected within the window away. */
    deviations: z.number().positive(),
    /** Log returns that the deviation is taken of. */
    deviationBars: z.int().positive(),
    /** The nearest a barrier may be, as a fraction of the entry price. */
    floor: z.number().positive(),
  }),
  /** Open of the first and close of the last bar of all series. */
  from: timeMs,
  to: timeMs,
  /** Decided races that the coefficients were fitted on. */
  races: z.int().nonnegative(),
  series: z.array(usedSeriesSchema).min(1),
})

export type Provenance = z.infer<typeof provenanceSchema>

/**
 * SHA-256, in hex, over the content of a series: each bar as six little-endian doubles (open time, open, high,
 * low, close, volume), then each funding settlement as three (time, rate, interval in hours).
 */
export function historyChecksum({ bars, funding }: Pick<SeriesHistory, 'bars' | 'funding'>): string {
  const hash = createHash('sha256')
  const take = (values: readonly number[]): void => {
    const bytes = Buffer.alloc(values.length * Float64Array.BYTES_PER_ELEMENT)
    for (const [index, value] of values.entries())
      bytes.writeDoubleLE(value, index * Float64Array.BYTES_PER_ELEMENT)
    hash.update(bytes)
  }
  for (const { openTime, open, high, low, close, volume } of bars)
    take([openTime, open, high, low, close, volume])
  for (const { time, rate, intervalHours } of funding) take([time, rate, intervalHours])
  return hash.digest('hex')
}

/** What a model file says of a series; undefined where there are no bars. */
export function describeHistory(history: SeriesHistory): UsedSeries | undefined {
  const { series, bars, funding } = history
  const [first] = bars
  const last = bars.at(-1)
  if (first === undefined || last === undefined) return undefined
  const { exchange, coin, timeframe }: Series = series
  return {
    exchange,
    coin,
    timeframe,
    from: first.openTime,
    to: last.openTime + timeframeMs(timeframe),
    bars: bars.length,
    fundingRates: funding.length,
    sha256: historyChecksum(history),
  }
}
