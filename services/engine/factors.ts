import type { Factor } from '../../contracts/verdict.ts'
import { CELL, CELLS_PER_FEATURE, cell } from './cells.ts'
import type { VerdictModel } from './model.ts'
import { stillnessOf } from './stillness.ts'

/** Name of the factor that holds what the model says without any measurement: intercept and calibration. */
export const BIAS_FACTOR = 'bias'

/**
 * The log-odds of a series' newest bar in parts: the bias, then every feature in the model's order. Added in
 * this order, the contributions are the log-odds to the last bit.
 *
 * @param base the series' first cell
 */
export function factorsOf(model: VerdictModel, cells: Float64Array, base: number): Factor[] {
  const bias = stillnessOf(cells, base) === undefined ? cell(cells, base + CELL.bias) : 0
  const factors: Factor[] = [{ name: BIAS_FACTOR, value: null, contribution: bias, status: 'measured' }]
  for (const [index, name] of model.names.entries()) {
    const at = base + CELL.features + CELLS_PER_FEATURE * index
    const value = cell(cells, at)
    if (Number.isNaN(value)) {
      factors.push({ name, value: null, contribution: 0, status: 'unavailable' })
    } else {
      // Adding 0 turns −0, which JSON cannot carry, into 0 and changes nothing else.
      const contribution = cell(cells, at + 1) + 0
      factors.push({ name, value: value + 0, contribution, status: 'measured' })
    }
  }
  return factors
}
