import { MEASURES } from '../../../services/engine/forecast/range-model.ts'
import { solve } from '../logistic-fit.ts'
import { type RangeSamples, samplesUntil } from './range-samples.ts'

/** Terms of the expected move of a timeframe, and the quantiles of returns relative to it. */
export interface RangeFit {
  readonly intercept: number
  readonly weights: readonly number[]
  readonly inner: number
  readonly outer: number
  readonly deviation: number
  /** Windows it was fitted on. */
  readonly windows: number
}

/** Windows that numbers are fitted on at most; of more, every so many-th. */
const MOST_WINDOWS = 200_000
const STEPS = 30
/** A step that changes no coefficient by more is the last one. */
const CLOSE_ENOUGH = 1e-4
/** Penalty on the weights, per window: averages that are nearly the same are not set against one another. */
const RIDGE = 3e-4
/** One wild window does not decide a step alone. */
const WILDEST = 8

/** Every so many-th window that was over at an instant, by series and place. */
export function* windowsUntil(
  all: readonly RangeSamples[],
  until: number,
  most = MOST_WINDOWS,
): Generator<readonly [RangeSamples, number], void, void> {
  const ends = all.map((samples) => samplesUntil(samples, until))
  const stride = Math.max(1, Math.ceil(ends.reduce((sum, end) => sum + end, 0) / most))
  let next = 0
  for (const [index, samples] of all.entries()) {
    const end = ends[index] ?? 0
    for (; next < end; next += stride) yield [samples, next]
    next -= end
  }
}

/** Rows of what was known, each with its season and how far the price went; column after column an intercept per group. */
function rowsUntil(groups: readonly (readonly RangeSamples[])[], until: number) {
  const columns = groups.length + MEASURES
  const inputs: number[] = []
  const seasons: number[] = []
  const moves: number[] = []
  const starts = [0]
  for (const [group, all] of groups.entries()) {
    for (const [one, place] of windowsUntil(all, until, MOST_WINDOWS / groups.length)) {
      for (let at = 0; at < groups.length; at++) inputs.push(at === group ? 1 : 0)
      for (let at = 0; at < MEASURES; at++) inputs.push(one.measures[place * MEASURES + at] ?? 0)
      seasons.push(one.season[place] ?? 0)
      moves.push(one.move[place] ?? 0)
    }
    starts.push(moves.length)
  }
  return { columns, inputs: Float64Array.from(inputs), seasons, moves, starts }
}

/**
 * Fits the expected move of a timeframe on all windows that were over at an instant: the scale of a two-sided exponential
 * distribution, by Newton's method. It is the likelihood that wild returns disturb least, and has one optimum. Of several
 * groups, which are timeframes, each has an intercept of its own, and the weights are of all. What returns of the last
 * group stayed within is then counted.
 */
export function fitRange(groups: readonly (readonly RangeSamples[])[], until: number): RangeFit {
  const { columns, inputs, seasons, moves, starts } = rowsUntil(groups, until)
  const count = moves.length
  const logVarianceOf = (row: number, numbers: readonly number[]): number => {
    let sum = seasons[row] ?? 0
    for (let at = 0; at < columns; at++) sum += (numbers[at] ?? 0) * (inputs[row * columns + at] ?? 0)
    return sum
  }
  // Begun where all measures weigh the same: scaled bars, nothing forgotten.
  let numbers = [...groups.map(() => 0), ...Array.from({ length: MEASURES }, () => 1 / MEASURES)]
  for (let step = 0; step < STEPS; step++) {
    const gradient = new Float64Array(columns)
    const curvature = new Float64Array(columns * columns)
    for (let row = 0; row < count; row++) {
      const ratio = (moves[row] ?? 0) * Math.exp(-0.5 * logVarianceOf(row, numbers))
      for (let at = 0; at < columns; at++) {
        const input = inputs[row * columns + at] ?? 0
        gradient[at] = (gradient[at] ?? 0) + input * (ratio - 1)
        const weighted = 0.5 * input * Math.min(ratio, WILDEST)
        for (let other = 0; other < columns; other++) {
          const place = at * columns + other
          curvature[place] = (curvature[place] ?? 0) + weighted * (inputs[row * columns + other] ?? 0)
        }
      }
    }
    for (let at = groups.length; at < columns; at++) {
      const place = at * columns + at
      curvature[place] = (curvature[place] ?? 0) + RIDGE * count
      gradient[at] = (gradient[at] ?? 0) - RIDGE * count * (numbers[at] ?? 0)
    }
    const change = solve(curvature, gradient)
    const largest = Math.max(...change.map(Math.abs))
    const share = Math.min(1, 1 / largest)
    numbers = numbers.map((number, at) => number + share * (change[at] ?? 0))
    if (largest < CLOSE_ENOUGH) break
  }
  const first = starts.at(-2) ?? 0
  const ratios = Float64Array.from(moves.slice(first), (move, row) => {
    return move * Math.exp(-0.5 * logVarianceOf(first + row, numbers))
  })
  return {
    intercept: numbers[groups.length - 1] ?? 0,
    weights: numbers.slice(groups.length),
    windows: ratios.length,
    deviation: rootMeanSquare(ratios),
    ...withinShares(ratios),
  }
}

export const rootMeanSquare = (sizes: Float64Array): number =>
  Math.sqrt(sizes.reduce((sum, size) => sum + size * size, 0) / sizes.length)

/** Bounds of half, and of four fifths, of some sizes. */
export function withinShares(sizes: Float64Array): { readonly inner: number; readonly outer: number } {
  const sorted = sizes.toSorted()
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { inner: at(0.5), outer: at(0.8) }
}

/** The expected move of a window, as a log return. */
export function moveOf(
  { intercept, weights }: Pick<RangeFit, 'intercept' | 'weights'>,
  samples: RangeSamples,
  place: number,
): number {
  let logVariance = intercept + (samples.season[place] ?? 0)
  for (let at = 0; at < MEASURES; at++)
    logVariance += (weights[at] ?? 0) * (samples.measures[place * MEASURES + at] ?? 0)
  return Math.exp(0.5 * logVariance)
}
