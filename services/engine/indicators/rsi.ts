import { CELL } from '../cells.ts'
import { updateSeededAverage, wilderWeight } from './seeded-average.ts'

const PERIOD = 14
const WEIGHT = wilderWeight(PERIOD)

/**
 * Wilder's RSI14, 0–100, valid from the 15th bar. A market that did not move at all reads 0, as in TA-Lib.
 *
 * @param changes price changes so far, this one included
 */
export function updateRsi(cells: Float64Array, base: number, changes: number, change: number): void {
  const gain = updateSeededAverage(
    cells,
    base + CELL.averageGain,
    PERIOD,
    WEIGHT,
    changes,
    change > 0 ? change : 0,
  )
  const loss = updateSeededAverage(
    cells,
    base + CELL.averageLoss,
    PERIOD,
    WEIGHT,
    changes,
    change < 0 ? -change : 0,
  )
  const moved = gain + loss
  cells[base + CELL.rsi14] = moved === 0 ? 0 : (100 * gain) / moved
}
