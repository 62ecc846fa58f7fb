import { cell } from '../cells.ts'

/**
 * Mean and population deviation of the last `period` values of a ring. The sums are kept of the distance to
 * a value of the window and are made anew once per period: sums of squared prices themselves would cancel
 * to noise where the deviation is small against the price, and drift for ever.
 *
 * @param at cell of the mean; the deviation, the shift, the sum and the sum of squares follow it
 * @param ring first cell of the ring, which already holds the newest value
 * @param mask ring length − 1; the ring is longer than the period
 * @param index ring position of the newest value, not yet masked
 * @param count values so far, the newest included
 */
export function updateRollingDeviation(
  cells: Float64Array,
  at: number,
  ring: number,
  mask: number,
  index: number,
  period: number,
  count: number,
): void {
  if (count < period) {
    cells[at] = Number.NaN
    cells[at + 1] = Number.NaN
    return
  }
  const newest = cell(cells, ring + (index & mask))
  let shift = cell(cells, at + 2)
  let sum = 0
  let squares = 0
  if (count % period === 0) {
    shift = newest
    for (let back = 0; back < period; back++) {
      const distance = cell(cells, ring + ((index - back) & mask)) - shift
      sum += distance
      squares += distance * distance
    }
    cells[at + 2] = shift
  } else {
    const entering = newest - shift
    const leaving = cell(cells, ring + ((index - period) & mask)) - shift
    sum = cell(cells, at + 3) + entering - leaving
    squares = cell(cells, at + 4) + entering * entering - leaving * leaving
  }
  const mean = sum / period
  const variance = squares / period - mean * mean
  cells[at] = shift + mean
  cells[at + 1] = variance > 0 ? Math.sqrt(variance) : 0
  cells[at + 3] = sum
  cells[at + 4] = squares
}
