import { CELL, cell } from '../cells.ts'
import { emaWeight, updateSeededAverage } from './seeded-average.ts'

const FAST = 12
const SLOW = 26
const SIGNAL = 9
const FAST_WEIGHT = emaWeight(FAST)
const SLOW_WEIGHT = emaWeight(SLOW)
const SIGNAL_WEIGHT = emaWeight(SIGNAL)

/**
 * MACD 12/26/9, valid from the 34th bar in all three parts. The fast average starts late, so that its seed
 * ends on the same bar as the slow one's; otherwise the first values differ from TA-Lib's.
 */
export function updateMacd(cells: Float64Array, base: number, bars: number, close: number): void {
  const slow = updateSeededAverage(cells, base + CELL.macdSlow, SLOW, SLOW_WEIGHT, bars, close)
  const fastInputs = bars - (SLOW - FAST)
  if (fastInputs > 0) {
    updateSeededAverage(cells, base + CELL.macdFast, FAST, FAST_WEIGHT, fastInputs, close)
  }
  if (bars < SLOW) {
    cells[base + CELL.macd] = Number.NaN
    cells[base + CELL.macdSignal] = Number.NaN
    cells[base + CELL.macdHistogram] = Number.NaN
    return
  }
  const line = cell(cells, base + CELL.macdFast) - slow
  const lines = bars - SLOW + 1
  const signal = updateSeededAverage(cells, base + CELL.macdSignal, SIGNAL, SIGNAL_WEIGHT, lines, line)
  cells[base + CELL.macd] = lines < SIGNAL ? Number.NaN : line
  cells[base + CELL.macdHistogram] = line - signal
}
