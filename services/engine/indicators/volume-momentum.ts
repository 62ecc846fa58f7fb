import { CELL, cell, logReturn } from '../cells.ts'
import { typicalReturn } from '../stillness.ts'
import { updateSeededAverage, wilderWeight } from './seeded-average.ts'

const USUAL_BARS = 50
const USUAL_WEIGHT = wilderWeight(USUAL_BARS)
/** Bars over which the moves are averaged. */
const MOVE_WEIGHT = 1 / 8

/**
 * The side that unusual volume took: an average of the returns, in standard deviations, each weighted by how
 * far the root of its bar's volume was above or below the usual. Moves on more volume than usual count their
 * way, moves on less count against it. NaN until there are 51 bars, and where there is no volume.
 *
 * @param bars bars so far, this one included; its return and their deviation are in the cells already
 */
export function updateVolumeMomentum(cells: Float64Array, base: number, bars: number, volume: number): void {
  const usual = updateSeededAverage(cells, base + CELL.volumeAverage, USUAL_BARS, USUAL_WEIGHT, bars, volume)
  const deviation = typicalReturn(cells, base)
  if (!(deviation > 0 && usual > 0)) {
    cells[base + CELL.volumeMomentum] = Number.NaN
    return
  }
  const move = (logReturn(cells, base, 1) / deviation) * (Math.sqrt(volume / usual) - 1)
  const before = cell(cells, base + CELL.volumeMomentum)
  cells[base + CELL.volumeMomentum] = Number.isNaN(before) ? move : before + (move - before) * MOVE_WEIGHT
}
