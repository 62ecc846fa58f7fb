import type { Candle } from '../../contracts/candle.ts'
import { countsForBar } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { barrierFraction } from '../../services/engine/barrier.ts'
import { CELL, CELLS_PER_FEATURE, cell } from '../../services/engine/cells.ts'
import type { ScoringModel } from '../../services/engine/model.ts'
import type { SeriesCalls } from '../../services/engine/scoring/call-columns.ts'
import { SeriesPool } from '../../services/engine/series-pool.ts'
import type { SeriesHistory } from './series-history.ts'

/**
 * The bars of a history that have a verdict and a race that is over, in order of time: what the model saw, what
 * it said, and what came of it.
 */
export interface SeriesSamples extends SeriesCalls {
  /** As many a bar as the model has, in its order; NaN where one could not be measured. */
  readonly features: Float32Array
  /** Return from the open of the window to its last close, whenever the race ended; NaN where that bar is missing. */
  readonly close: Float32Array
}

const [UP, DOWN, BOTH, TIMEOUT, INCOMPLETE] = [
  RACE_OUTCOMES.indexOf('up'),
  RACE_OUTCOMES.indexOf('down'),
  RACE_OUTCOMES.indexOf('both'),
  RACE_OUTCOMES.indexOf('timeout'),
  RACE_OUTCOMES.indexOf('incomplete'),
]

/**
 * Replays a history through the state that the service itself keeps of it, and runs the race of every bar.
 *
 * @param model tells the features, and what `probability` and `sign` are
 */
export function seriesSamples(model: ScoringModel, { series, bars, funding }: SeriesHistory): SeriesSamples {
  const { timeframe } = series
  const pool = new SeriesPool(model)
  const slot = pool.open(timeframe)
  const base = pool.baseOf(slot)
  const columns = model.names.length
  const barMs = timeframeMs(timeframe)
  const windowBars = WINDOW_BARS[timeframe]
  const lastClose = (bars.at(-1)?.openTime ?? 0) + barMs
  // Bars whose window is over by the last one.
  let end = bars.length
  while (end > 0 && (bars[end - 1]?.openTime ?? 0) + (windowBars + 1) * barMs > lastClose) end -= 1
  const room = Math.max(0, end - LIMITS.warmUpBars + 1)
  const samples = {
    series,
    barClose: new Float64Array(room),
    features: new Float32Array(room * columns),
    barrier: new Float32Array(room),
    race: new Uint8Array(room),
    rise: new Float32Array(room),
    probability: new Float32Array(room),
    sign: new Int8Array(room),
    close: new Float32Array(room),
  }
  let settled = 0
  for (let index = 0; index < end; index++) {
    const bar = bars[index] as Candle
    const closes = bar.openTime + barMs
    for (
      let next = funding[settled];
      next !== undefined && countsForBar(next, closes);
      next = funding[settled]
    ) {
      pool.setFunding(slot, next)
      settled += 1
    }
    pool.push(slot, bar)
    const { cells } = pool
    const at = index + 1 - LIMITS.warmUpBars
    if (at < 0) continue
    const barrier = barrierFraction(cell(cells, base + CELL.returnDeviation), windowBars)
    samples.barClose[at] = closes
    samples.barrier[at] = barrier
    samples.probability[at] = cell(cells, base + CELL.probability)
    samples.sign[at] = cell(cells, base + CELL.call)
    for (let feature = 0; feature < columns; feature++) {
      samples.features[at * columns + feature] = cell(
        cells,
        base + CELL.features + CELLS_PER_FEATURE * feature,
      )
    }
    runRace(bars, index, barMs, windowBars, barrier, ended)
    samples.race[at] = ended.race
    samples.rise[at] = ended.rise
    samples.close[at] = windowReturn(bars, index, barMs, windowBars)
  }
  return samples
}

/** As bars follow one another at least a bar apart, one that is where it belongs has all the others before it. */
export function windowReturn(
  bars: readonly Candle[],
  index: number,
  barMs: number,
  windowBars: number,
): number {
  const last = bars[index + windowBars]
  const isWhole = last?.openTime === (bars[index]?.openTime ?? 0) + windowBars * barMs
  return isWhole ? last.close / (bars[index + 1]?.open ?? Number.NaN) - 1 : Number.NaN
}

/**
 * Samples whose races are won by the side that the window closes on. What is fitted and scored on them forecasts
 * whether it closes above the entry; a close at the entry decides nothing.
 */
export const closesAsRaces = (samples: SeriesSamples): SeriesSamples => ({
  ...samples,
  race: Uint8Array.from(samples.close, (rise) =>
    Number.isNaN(rise) ? INCOMPLETE : rise > 0 ? UP : rise < 0 ? DOWN : TIMEOUT,
  ),
  rise: samples.close,
})

/** The newest result of `runRace`: one object for millions of races. */
const ended = { race: 0, rise: 0 }

/** The race of one bar, by the rule of the service's own, on bars that reach to the end of its window. */
export function runRace(
  bars: readonly Candle[],
  index: number,
  barMs: number,
  windowBars: number,
  barrier: number,
  into: { race: number; rise: number },
): void {
  const barClose = (bars[index]?.openTime ?? 0) + barMs
  const entry = bars[index + 1]?.open ?? Number.NaN
  const [upper, lower] = [entry * (1 + barrier), entry * (1 - barrier)]
  into.race = INCOMPLETE
  into.rise = Number.NaN
  for (let step = 0; step < windowBars; step++) {
    const bar = bars[index + 1 + step]
    if (bar?.openTime !== barClose + step * barMs) return
    const { open, high, low, close } = bar
    let exit = Number.NaN
    if (open >= upper) [into.race, exit] = [UP, open]
    else if (open <= lower) [into.race, exit] = [DOWN, open]
    else if (high >= upper && low <= lower) into.race = BOTH
    else if (high >= upper) [into.race, exit] = [UP, upper]
    else if (low <= lower) [into.race, exit] = [DOWN, lower]
    else if (step === windowBars - 1) [into.race, exit] = [TIMEOUT, close]
    else continue
    into.rise = exit / entry - 1
    return
  }
}
