import type { Candle } from '../../contracts/candle.ts'
import { countsForBar } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import type { Series } from '../../contracts/series.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { barrierFraction } from '../../services/engine/barrier.ts'
import { CELL, CELLS_PER_FEATURE, cell } from '../../services/engine/cells.ts'
import type { ScoringModel } from '../../services/engine/model.ts'
import { createRace, type RaceResult } from '../../services/engine/race.ts'
import { createSeriesPool } from '../../services/engine/series-pool.ts'
import type { SeriesHistory } from './series-history.ts'

/**
 * The bars of a series that have a verdict and a race that is over, in order of time: what the model saw, and
 * what came of it. One element per bar, of `features` as many as the model has.
 */
export interface SeriesSamples {
  readonly series: Series
  readonly count: number
  /** Close of the bar, Unix milliseconds. */
  readonly barClose: Float64Array
  /** In the model's order; NaN where one could not be measured. */
  readonly features: Float64Array
  readonly barrier: Float64Array
  /** Index into `RACE_OUTCOMES`. */
  readonly race: Uint8Array
  /** NaN where there is none. */
  readonly entryPrice: Float64Array
  readonly exitPrice: Float64Array
  /** What the model itself said: its forecast, and the call as 1, −1 or 0. */
  readonly probability: Float64Array
  readonly sign: Int8Array
}

/**
 * Replays a series through the state that the service itself keeps of it, and runs the race of every bar.
 *
 * @param model tells the features, and what `probability` and `sign` are
 */
export function seriesSamples(model: ScoringModel, { series, bars, funding }: SeriesHistory): SeriesSamples {
  const { timeframe } = series
  const pool = createSeriesPool(model)
  const slot = pool.open(timeframe)
  const base = pool.baseOf(slot)
  const columns = model.names.length
  const room = Math.max(0, bars.length - LIMITS.warmUpBars)
  const barClose = new Float64Array(room)
  const features = new Float64Array(room * columns)
  const barrier = new Float64Array(room)
  const race = new Uint8Array(room)
  const entryPrice = new Float64Array(room)
  const exitPrice = new Float64Array(room)
  const probability = new Float64Array(room)
  const sign = new Int8Array(room)
  const barMs = timeframeMs(timeframe)
  let settled = 0
  let count = 0
  for (const [index, bar] of bars.entries()) {
    const closes = bar.openTime + barMs
    for (let next = funding[settled]; next && countsForBar(next, closes); next = funding[settled]) {
      pool.setFunding(slot, next)
      settled += 1
    }
    pool.push(slot, bar)
    if (index + 1 < LIMITS.warmUpBars) continue
    const distance = barrierFraction(cell(pool.cells, base + CELL.returnDeviation), WINDOW_BARS[timeframe])
    const ended = runRace(series, bars, index, distance)
    if (ended === undefined) break
    barClose[count] = closes
    barrier[count] = distance
    race[count] = RACE_OUTCOMES.indexOf(ended.race)
    entryPrice[count] = ended.entryPrice ?? Number.NaN
    exitPrice[count] = ended.exitPrice ?? Number.NaN
    probability[count] = cell(pool.cells, base + CELL.probability)
    sign[count] = cell(pool.cells, base + CELL.call)
    for (let feature = 0; feature < columns; feature++) {
      const at = base + CELL.features + CELLS_PER_FEATURE * feature
      features[count * columns + feature] = cell(pool.cells, at)
    }
    count += 1
  }
  return { series, count, barClose, features, barrier, race, entryPrice, exitPrice, probability, sign }
}

/** The race of one bar; undefined while its window is not over. */
function runRace(
  { timeframe }: Series,
  bars: readonly Candle[],
  index: number,
  barrier: number,
): RaceResult | undefined {
  const barMs = timeframeMs(timeframe)
  const barClose = (bars[index]?.openTime ?? 0) + barMs
  const race = createRace({ barClose, barMs, windowBars: WINDOW_BARS[timeframe], barrier })
  for (let next = index + 1; next < bars.length; next++) {
    const bar = bars[next]
    const ended = bar === undefined ? undefined : race.take(bar)
    if (ended !== undefined) return ended
  }
  return undefined
}
