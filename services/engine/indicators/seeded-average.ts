import { cell } from '../cells.ts'

/** Weight of the newest input in an exponential average (EMA). */
export const emaWeight = (period: number): number => 2 / (period + 1)

/** Weight of the newest input in Wilder's average. */
export const wilderWeight = (period: number): number => 1 / period

/**
 * Adds one input to an exponential average that starts as the plain mean of its first `period` inputs, as
 * TA-Lib seeds it. The value is NaN before that.
 *
 * @param at cell of the value; the next cell holds the seeding sum
 * @param count inputs so far, this one included
 * @returns the average after this input
 * @example
 * updateSeededAverage(cells, at, 2, emaWeight(2), 1, 10) // NaN
 * updateSeededAverage(cells, at, 2, emaWeight(2), 2, 14) // 12
 */
export function updateSeededAverage(
  cells: Float64Array,
  at: number,
  period: number,
  weight: number,
  count: number,
  input: number,
): number {
  if (count > period) {
    const previous = cell(cells, at)
    const next = previous + (input - previous) * weight
    cells[at] = next
    return next
  }
  const sum = cell(cells, at + 1) + input
  const seed = count < period ? Number.NaN : sum / period
  cells[at] = seed
  cells[at + 1] = sum
  return seed
}
