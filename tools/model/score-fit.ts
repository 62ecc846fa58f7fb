import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import type { Recipe } from '../../services/engine/provenance.ts'
import { fitLogistic } from './logistic-fit.ts'
import type { SeriesSamples } from './series-samples.ts'

/** A score of a sample: positive where the upper barrier is the likelier one. */
export interface ScoreFit {
  /** Root mean square of every feature: what one unit of it is. */
  readonly scales: readonly number[]
  readonly coefficients: readonly number[]
  /** Decided races it was fitted on. */
  readonly races: number
  scoreOf(samples: SeriesSamples, index: number): number
}

const UP = RACE_OUTCOMES.indexOf('up')
const DOWN = RACE_OUTCOMES.indexOf('down')

/** Decided races of some samples: row by row the set of samples and the place in it, and who won. */
interface Races {
  readonly sample: Uint16Array
  readonly place: Uint32Array
  readonly wonUp: Uint8Array
}

/**
 * The decided races whose whole window is over at an instant: what is fitted on them knows nothing of what
 * happened at `until` or later. Where there are more than `most`, every so many-th of them.
 */
function racesUntil(all: readonly SeriesSamples[], until: number, most: number): Races {
  let decided = 0
  const limits = all.map(({ series, barClose, race }) => {
    const windowMs = WINDOW_BARS[series.timeframe] * timeframeMs(series.timeframe)
    let limit = 0
    while (limit < race.length && (barClose[limit] ?? 0) + windowMs <= until) {
      if (race[limit] === UP || race[limit] === DOWN) decided += 1
      limit += 1
    }
    return limit
  })
  const stride = Math.max(1, Math.ceil(decided / most))
  const count = Math.ceil(decided / stride)
  const races = {
    sample: new Uint16Array(count),
    place: new Uint32Array(count),
    wonUp: new Uint8Array(count),
  }
  let seen = 0
  for (const [sample, { race }] of all.entries()) {
    for (let place = 0; place < (limits[sample] ?? 0); place++) {
      if (race[place] !== UP && race[place] !== DOWN) continue
      if (seen % stride === 0) {
        const row = seen / stride
        races.sample[row] = sample
        races.place[row] = place
        races.wonUp[row] = race[place] === UP ? 1 : 0
      }
      seen += 1
    }
  }
  return races
}

/** A feature in its unit, clipped; 0 where it could not be measured. */
function scaled(value: number, scale: number, clip: number): number {
  if (Number.isNaN(value)) return 0
  const units = value / scale
  return units > clip ? clip : units < -clip ? -clip : units
}

/**
 * Fits coefficients on the decided races that were over at an instant. Features are not centred, and the
 * intercept that is fitted beside the coefficients is left out: a market turned upside down gets the opposite
 * score, and the drift of the years that were fitted on is not taken for a law.
 *
 * @param groups samples by timeframe; each gives as many races at most
 * @param columns features of a sample
 */
export function fitScore(
  groups: readonly (readonly SeriesSamples[])[],
  until: number,
  columns: number,
  { clip, ridgePerRace, mostRaces }: Pick<Recipe, 'clip' | 'ridgePerRace' | 'mostRaces'>,
): ScoreFit {
  const parts = groups.map((all) => ({
    all,
    races: racesUntil(all, until, Math.floor(mostRaces / groups.length)),
  }))
  const count = parts.reduce((sum, { races }) => sum + races.place.length, 0)
  const inputs = new Float64Array(count * columns)
  const outcomes = new Uint8Array(count)
  let row = 0
  for (const { all, races } of parts) {
    for (let race = 0; race < races.place.length; race++) {
      const { features } = all[races.sample[race] ?? 0] as SeriesSamples
      const at = (races.place[race] ?? 0) * columns
      for (let index = 0; index < columns; index++) inputs[row * columns + index] = features[at + index] ?? 0
      outcomes[row] = races.wonUp[race] ?? 0
      row += 1
    }
  }
  const scales = Array.from({ length: columns }, (_, column) => rootMeanSquare(inputs, column, columns))
  for (let at = 0; at < inputs.length; at++)
    inputs[at] = scaled(inputs[at] ?? 0, scales[at % columns] ?? 1, clip)
  const coefficients =
    count === 0
      ? scales.map(() => 0)
      : fitLogistic({ columns, inputs, outcomes }, ridgePerRace * count).coefficients
  return {
    scales,
    coefficients,
    races: count,
    scoreOf({ features }, index) {
      const at = index * columns
      let score = 0
      for (let place = 0; place < columns; place++) {
        const value = features[at + place] ?? Number.NaN
        score += (coefficients[place] ?? 0) * scaled(value, scales[place] ?? 1, clip)
      }
      return score
    },
  }
}

/** Root mean square of the measured values of a column; 1 where there are none. */
function rootMeanSquare(inputs: Float64Array, column: number, size: number): number {
  let squares = 0
  let count = 0
  for (let at = column; at < inputs.length; at += size) {
    const value = inputs[at] ?? 0
    if (Number.isNaN(value)) continue
    squares += value * value
    count += 1
  }
  return Math.sqrt(squares / count) || 1
}

/** Platt scaling: the factor on scores that makes their log-odds agree with what came of them, beside an offset. */
export function plattSlope(scores: Float64Array, outcomes: Uint8Array): number {
  return fitLogistic({ columns: 1, inputs: scores, outcomes }, 0).coefficients[0] ?? 0
}

const STEPS = 30
const CONVERGED = 1e-12

/** The offset that makes log-odds agree with how often the upper side won. */
export function offsetOf(logOdds: Float64Array, outcomes: Uint8Array): number {
  let offset = 0
  for (let step = 0; step < STEPS; step++) {
    let [gradient, curvature] = [0, 0]
    for (let row = 0; row < outcomes.length; row++) {
      const probability = 1 / (1 + Math.exp(-(logOdds[row] ?? 0) - offset))
      gradient += (outcomes[row] ?? 0) - probability
      curvature += probability * (1 - probability)
    }
    const change = curvature === 0 ? 0 : gradient / curvature
    offset += change
    if (Math.abs(change) < CONVERGED) break
  }
  return offset
}

/** Variance that the slope of a coin has among coins; its inverse is how much a coin must tell for half of its own. */
const CERTAINTY_OF_ONE = 16
const FEWEST_OF_COIN = 500
const [LEAST_SLOPE, MOST_SLOPE] = [-1, 4]

/**
 * The factor on the log-odds of one coin that its races call for, drawn to 1; never below 0.
 *
 * @param windowBars races that overlap so many times say as much as one
 */
export function coinSlope(logOdds: Float64Array, outcomes: Uint8Array, windowBars: number): number {
  let squares = 0
  for (const value of logOdds) squares += value * value
  const certainty = squares / 4 / windowBars
  let own = 1
  for (let step = 0; step < STEPS && outcomes.length > FEWEST_OF_COIN; step++) {
    let [gradient, curvature] = [0, 0]
    for (let row = 0; row < outcomes.length; row++) {
      const value = logOdds[row] ?? 0
      const probability = 1 / (1 + Math.exp(-own * value))
      gradient += value * ((outcomes[row] ?? 0) - probability)
      curvature += value * value * probability * (1 - probability)
    }
    const next = Math.min(MOST_SLOPE, Math.max(LEAST_SLOPE, own + gradient / (curvature || 1)))
    if (Math.abs(next - own) < CONVERGED) break
    own = next
  }
  return Math.max(0, (CERTAINTY_OF_ONE + own * certainty) / (CERTAINTY_OF_ONE + certainty))
}
