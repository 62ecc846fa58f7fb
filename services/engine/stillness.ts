import { CELL, cell } from './cells.ts'

/** Bars without a move, or without a trade, from which on a market stands still: those of the realised volatility. */
export const STILL_BARS = 50

/** The activity that is missing in a market that stands still. */
export type Stillness = 'moves' | 'trades'

/**
 * Counts the bars in a row that closed where the one before did, and those on which nothing was traded: exactly, where
 * a deviation would keep some rounding. The close before is in the cells still.
 *
 * @param bars bars of the series, this one included
 */
export function updateStillness(
  cells: Float64Array,
  base: number,
  bars: number,
  close: number,
  volume: number,
): void {
  const isUnmoved = bars > 1 && close === cell(cells, base + CELL.close)
  cells[base + CELL.unmovedBars] = isUnmoved ? cell(cells, base + CELL.unmovedBars) + 1 : 0
  cells[base + CELL.untradedBars] = volume === 0 ? cell(cells, base + CELL.untradedBars) + 1 : 0
}

/**
 * Says what a series has been without for {@link STILL_BARS} bars in a row or more: `moves` of the price, or else
 * `trades`; undefined where neither. A series that stands still cannot be measured.
 */
export function stillnessOf(cells: Float64Array, base: number): Stillness | undefined {
  if (cell(cells, base + CELL.unmovedBars) >= STILL_BARS) return 'moves'
  if (cell(cells, base + CELL.untradedBars) >= STILL_BARS) return 'trades'
  return undefined
}

/** Fraction of the price below which a range is only a rounding error of the averages. */
const RANGE_FLOOR = 1e-9

/** ATR50, the range that distances are measured in; NaN before bar 51, and in a market that has never moved. */
export function typicalRange(cells: Float64Array, base: number): number {
  const range = cell(cells, base + CELL.atr50)
  return range > 0 ? Math.max(range, RANGE_FLOOR * cell(cells, base + CELL.close)) : Number.NaN
}

/** Below it a deviation of returns is what rounding leaves of their squares. */
const RETURN_FLOOR = 1e-8
/** A price that grows evenly has no deviation, and yet moves: it counts as so much of the mean at least. */
const LEAST_OF_MEAN = 0.01

/** The deviation that returns are measured in; NaN before bar 51, and where none of 50 differs. */
export function typicalReturn(cells: Float64Array, base: number): number {
  const deviation = cell(cells, base + CELL.returnDeviation)
  if (!(deviation > 0)) return Number.NaN
  const mean = Math.abs(cell(cells, base + CELL.returnMean))
  return Math.max(deviation, RETURN_FLOOR, LEAST_OF_MEAN * mean)
}
