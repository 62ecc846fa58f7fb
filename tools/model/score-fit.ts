import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import type { Recipe } from '../../services/engine/provenance.ts'
import { fitLogistic } from './logistic-fit.ts'
import type { SeriesSamples } from './series-samples.ts'

/** Races that start at `from` or later and whose window is over at `until`. Unix milliseconds. */
export interface Period {
  readonly from: number
  readonly until: number
}

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

/**
 * Calls back with every decided race of a period. A race counts only when its whole window lies in the period:
 * what is fitted on it knows nothing of what happened at `until` or later.
 */
export function forEachRace(
  all: readonly SeriesSamples[],
  { from, until }: Period,
  take: (samples: SeriesSamples, index: number, wonUp: 0 | 1) => void,
): void {
  for (const samples of all) {
    const { timeframe } = samples.series
    const windowMs = WINDOW_BARS[timeframe] * timeframeMs(timeframe)
    for (let index = 0; index < samples.count; index++) {
      const barClose = samples.barClose[index] ?? 0
      if (barClose < from || barClose + windowMs > until) continue
      const race = samples.race[index]
      if (race === UP) take(samples, index, 1)
      else if (race === DOWN) take(samples, index, 0)
    }
  }
}

/** A feature in its unit, clipped; 0 where it could not be measured. */
function scaled(value: number, scale: number, clip: number): number {
  if (Number.isNaN(value)) return 0
  const units = value / scale
  return units > clip ? clip : units < -clip ? -clip : units
}

/** Root mean square of each feature over the decided races of a period; 1 where there is nothing to tell. */
function scalesOf(all: readonly SeriesSamples[], period: Period, columns: number) {
  const squares = new Float64Array(columns)
  const counts = new Uint32Array(columns)
  let races = 0
  forEachRace(all, period, ({ features }, index) => {
    races += 1
    for (let column = 0; column < columns; column++) {
      const value = features[index * columns + column] ?? Number.NaN
      if (Number.isNaN(value)) continue
      squares[column] = (squares[column] ?? 0) + value * value
      counts[column] = (counts[column] ?? 0) + 1
    }
  })
  const scales = Array.from(squares, (sum, column) => Math.sqrt(sum / (counts[column] ?? 0)) || 1)
  return { races, scales }
}

/**
 * Fits the coefficients on the decided races of a period. Features are not centred, and the intercept that is
 * fitted beside the coefficients is left out: a market turned upside down gets the opposite score, and the
 * drift of the years that were fitted on is not taken for a law.
 *
 * @param columns features of a sample
 */
export function fitScore(
  all: readonly SeriesSamples[],
  period: Period,
  columns: number,
  recipe: Pick<Recipe, 'clip' | 'ridgePerRace'>,
): ScoreFit {
  const { clip, ridgePerRace } = recipe
  const { races, scales } = scalesOf(all, period, columns)
  const inputs = new Float64Array(races * columns)
  const outcomes = new Uint8Array(races)
  let row = 0
  forEachRace(all, period, ({ features }, index, wonUp) => {
    outcomes[row] = wonUp
    for (let column = 0; column < columns; column++) {
      const value = features[index * columns + column] ?? Number.NaN
      inputs[row * columns + column] = scaled(value, scales[column] ?? 1, clip)
    }
    row += 1
  })
  const { coefficients } =
    races === 0
      ? { coefficients: scales.map(() => 0) }
      : fitLogistic({ columns, inputs, outcomes }, ridgePerRace * races)
  return {
    scales,
    coefficients,
    races,
    scoreOf({ features }, index) {
      let score = 0
      for (let column = 0; column < columns; column++) {
        const value = features[index * columns + column] ?? Number.NaN
        score += (coefficients[column] ?? 0) * scaled(value, scales[column] ?? 1, clip)
      }
      return score
    },
  }
}

/**
 * Platt scaling: the factor on the score that makes its log-odds agree with the races of a period. Its offset
 * is fitted and left out, for the reason that the intercept is.
 *
 * @returns undefined where there are too few races, or the score pointed the wrong way
 */
export function calibrateSlope(
  fit: ScoreFit,
  all: readonly SeriesSamples[],
  period: Period,
  fewestRaces: number,
): number | undefined {
  const scores: number[] = []
  const outcomes: number[] = []
  forEachRace(all, period, (samples, index, wonUp) => {
    scores.push(fit.scoreOf(samples, index))
    outcomes.push(wonUp)
  })
  if (scores.length < fewestRaces) return undefined
  const rows = { columns: 1, inputs: Float64Array.from(scores), outcomes: Uint8Array.from(outcomes) }
  const [slope = 0] = fitLogistic(rows, 0).coefficients
  return slope > 0 ? slope : undefined
}
