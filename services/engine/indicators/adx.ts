import { CELL, cell } from '../cells.ts'
import { updateSeededAverage, wilderWeight } from './seeded-average.ts'

const PERIOD = 14
const WEIGHT = wilderWeight(PERIOD)

/** Wilder's running sum: it forgets a fourteenth of itself with every input, once it is seeded. */
function updateSum(cells: Float64Array, at: number, moves: number, input: number): number {
  const sum = cell(cells, at)
  // The seed is 13 inputs, not 14: Wilder's and TA-Lib's first sum leaves room for the current bar.
  const next = moves < PERIOD ? sum + input : sum - sum / PERIOD + input
  cells[at] = next
  return next
}

/**
 * Wilder's ADX14 (valid from the 28th bar) with +DI and −DI (from the 15th), 0–100.
 *
 * @param moves bar-to-bar moves so far, this one included
 * @param rise high above the previous high
 * @param fall low below the previous low
 */
export function updateAdx(
  cells: Float64Array,
  base: number,
  moves: number,
  rise: number,
  fall: number,
  trueRange: number,
): void {
  const plus = updateSum(cells, base + CELL.plusMovement, moves, rise > 0 && rise > fall ? rise : 0)
  const minus = updateSum(cells, base + CELL.minusMovement, moves, fall > 0 && fall > rise ? fall : 0)
  const range = updateSum(cells, base + CELL.smoothedRange, moves, trueRange)
  if (moves < PERIOD) {
    cells[base + CELL.plusDi14] = Number.NaN
    cells[base + CELL.minusDi14] = Number.NaN
    cells[base + CELL.adx14] = Number.NaN
    return
  }
  const plusDi = range === 0 ? 0 : (100 * plus) / range
  const minusDi = range === 0 ? 0 : (100 * minus) / range
  cells[base + CELL.plusDi14] = plusDi
  cells[base + CELL.minusDi14] = minusDi
  const total = plusDi + minusDi
  const directional = total === 0 ? 0 : (100 * Math.abs(plusDi - minusDi)) / total
  updateSeededAverage(cells, base + CELL.adx14, PERIOD, WEIGHT, moves - PERIOD + 1, directional)
}
