import type { Candle } from '../../../contracts/candle.ts'
import { CELL, cell, RANGE_RING } from '../cells.ts'
import { typicalRange } from '../stillness.ts'

/** Bars whose highest high and lowest low make the range. */
export const RANGE_BARS = 48
const WICK_WEIGHT = 1 / 8

/**
 * Takes a bar into a rolling maximum: the greatest value at `at`, the bar it was in next to it, then the ring.
 * The ring is searched only when the greatest has left the window, so a bar costs a few steps on average.
 */
function updateMaximum(cells: Float64Array, at: number, bars: number, value: number): void {
  const ring = at + 2
  const mask = RANGE_RING - 1
  const newest = bars - 1
  cells[ring + (newest & mask)] = value
  if (bars === 1 || value >= cell(cells, at)) {
    cells[at] = value
    cells[at + 1] = newest
    return
  }
  if (cell(cells, at + 1) > newest - RANGE_BARS) return
  let [greatest, place] = [Number.NEGATIVE_INFINITY, newest]
  for (let bar = newest - RANGE_BARS + 1; bar <= newest; bar++) {
    if (cell(cells, ring + (bar & mask)) < greatest) continue
    greatest = cell(cells, ring + (bar & mask))
    place = bar
  }
  cells[at] = greatest
  cells[at + 1] = place
}

/**
 * Advances the range of the last 48 bars, and the balance of shadows: an average, forgetting over 8 bars, of how
 * much longer a bar's lower shadow is than its upper one, in ATR50.
 *
 * @param bars bars so far, this one included; its ATR50 is in the cells already
 */
export function updateRange(cells: Float64Array, base: number, bars: number, bar: Candle): void {
  const { open, high, low, close } = bar
  updateMaximum(cells, base + CELL.highest, bars, high)
  updateMaximum(cells, base + CELL.lowest, bars, -low)
  const unit = typicalRange(cells, base)
  if (!(unit > 0)) return
  const lower = (open < close ? open : close) - low
  const upper = high - (open > close ? open : close)
  const before = cell(cells, base + CELL.wickBalance)
  cells[base + CELL.wickBalance] = before + ((lower - upper) / unit - before) * WICK_WEIGHT
}

/**
 * Position of the close in the range of the last 48 bars: −1 at its bottom, 1 at its top; 0 when the range has no
 * width.
 */
export function rangePosition(cells: Float64Array, base: number): number {
  if (cell(cells, base + CELL.bars) < RANGE_BARS) return Number.NaN
  const highest = cell(cells, base + CELL.highest)
  const lowest = -cell(cells, base + CELL.lowest)
  return highest > lowest ? (2 * cell(cells, base + CELL.close) - highest - lowest) / (highest - lowest) : 0
}
