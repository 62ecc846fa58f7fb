import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { DAY_MS, timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { callOf, nextCall } from '../../services/engine/call-trigger.ts'
import type { Recipe } from '../../services/engine/provenance.ts'
import type { ScoredCall } from '../../services/engine/scoring/evaluation.ts'
import { calibrateSlope, fitScore, type Period, type ScoreFit } from './score-fit.ts'
import type { SeriesSamples } from './series-samples.ts'

/** What is fitted on the past of one instant. */
export interface TimeframeFit {
  readonly score: ScoreFit
  /** Undefined where the newest part of the past gives no calibration; every forecast is then one half. */
  readonly slope: number | undefined
}

/** One stretch of a walk: fitted on what was over at `from`, it forecasts the bars until `until`. */
export type Fold = Period

const firstClose = (all: readonly SeriesSamples[]): number =>
  all.reduce((first, { barClose }) => Math.min(first, barClose[0] ?? first), Number.POSITIVE_INFINITY)

const lastClose = (all: readonly SeriesSamples[]): number =>
  all.reduce((last, { barClose, count }) => Math.max(last, barClose[count - 1] ?? last), 0)

/** Where the older part of a past ends and its newest part, which calibrates, begins. */
const borderOf = (target: readonly SeriesSamples[], until: number, { calibrationShare }: Recipe): number =>
  until - calibrationShare * (until - firstClose(target))

/** The stretches of a walk through a timeframe's history, in order; none where there is no history. */
export function foldsOf(target: readonly SeriesSamples[], recipe: Recipe): Fold[] {
  const first = firstClose(target)
  const end = lastClose(target) + 1
  if (!(end > first)) return []
  const training = Math.min(recipe.firstTrainingShare * (end - first), recipe.firstTrainingDays * DAY_MS)
  const start = Math.ceil(first + training)
  const step = Math.ceil(Math.min(recipe.refitDays * DAY_MS, (end - start) / recipe.fewestRefits))
  const folds: Fold[] = []
  for (let from = start; from < end; from += step) folds.push({ from, until: Math.min(end, from + step) })
  return folds
}

/**
 * Fits the recipe on what was over at an instant: coefficients on the older part of the past, the slope on
 * the newest part of the target's. Races across the border of the two belong to neither.
 *
 * @param target samples of the timeframe that is calibrated
 * @param source samples of the timeframe that gives the coefficients
 */
export function fitUntil(
  target: readonly SeriesSamples[],
  source: readonly SeriesSamples[],
  until: number,
  columns: number,
  recipe: Recipe,
): TimeframeFit {
  const border = borderOf(target, until, recipe)
  const score = fitScore(source, { from: 0, until: border }, columns, recipe)
  const slope = calibrateSlope(score, target, { from: border, until }, recipe.fewestRaces)
  return { score, slope }
}

/** The instant at which the last window of some samples is over. */
const endOf = (all: readonly SeriesSamples[]): number =>
  all.reduce((end, { series, barClose, count }) => {
    const windowMs = WINDOW_BARS[series.timeframe] * timeframeMs(series.timeframe)
    return Math.max(end, (barClose[count - 1] ?? 0) + windowMs)
  }, 0)

/** The recipe on all there is: the coefficients of a model, and the slope of each timeframe. */
export interface WholeFit {
  readonly score: ScoreFit
  slopeOf(target: readonly SeriesSamples[]): number | undefined
}

/**
 * Fits the recipe on a whole history. No slope is taken of races that the coefficients were fitted on.
 *
 * @param source samples of the timeframe that gives the coefficients
 */
export function fitWhole(source: readonly SeriesSamples[], columns: number, recipe: Recipe): WholeFit {
  const border = borderOf(source, endOf(source), recipe)
  const score = fitScore(source, { from: 0, until: border }, columns, recipe)
  return {
    score,
    slopeOf(target) {
      const until = endOf(target)
      const from = Math.max(border, borderOf(target, until, recipe))
      return calibrateSlope(score, target, { from, until }, recipe.fewestRaces)
    },
  }
}

/**
 * Walks through the history of a timeframe: at every step the recipe is fitted on what was over by then and
 * forecasts the bars that follow. The forecasts, with the calls they make, are all out of sample.
 *
 * @param report hears about every step
 */
export function walkForward(
  target: readonly SeriesSamples[],
  source: readonly SeriesSamples[],
  columns: number,
  recipe: Recipe,
  report: (fold: Fold, done: number, total: number) => void = () => undefined,
): ScoredCall[] {
  const signs = target.map(() => 0)
  const calls: ScoredCall[] = []
  const folds = foldsOf(target, recipe)
  for (const [done, fold] of folds.entries()) {
    const { score, slope = 0 } = fitUntil(target, source, fold.from, columns, recipe)
    for (const [place, samples] of target.entries()) {
      for (let index = 0; index < samples.count; index++) {
        const barClose = samples.barClose[index] ?? 0
        if (barClose < fold.from || barClose >= fold.until) continue
        const probability = 1 / (1 + Math.exp(-slope * score.scoreOf(samples, index)))
        const sign = nextCall(signs[place] ?? 0, probability)
        signs[place] = sign
        calls.push(scoredCall(samples, index, probability, sign))
      }
    }
    report(fold, done + 1, folds.length)
  }
  return calls
}

const orNull = (price = Number.NaN): number | null => (Number.isNaN(price) ? null : price)

/** A sample with a forecast on it, ready to be scored. */
export function scoredCall(
  samples: SeriesSamples,
  index: number,
  probability: number,
  sign: number,
): ScoredCall {
  return {
    ...samples.series,
    barClose: samples.barClose[index] ?? 0,
    call: callOf(sign),
    probability,
    barrier: samples.barrier[index] ?? 0,
    race: RACE_OUTCOMES[samples.race[index] ?? 0] ?? 'incomplete',
    entryPrice: orNull(samples.entryPrice[index]),
    exitPrice: orNull(samples.exitPrice[index]),
  }
}

/**
 * Samples whose outcomes are those of bars half the series later, from its end going on at its beginning: the
 * same recipe on them finds only what chance put there.
 */
export const movedOutcomes = (all: readonly SeriesSamples[]): SeriesSamples[] =>
  all.map((samples) => {
    const { count } = samples
    const half = count >> 1
    const from = (index: number): number => (index + half) % count
    const moved = (values: Float64Array): Float64Array => values.map((_, index) => values[from(index)] ?? 0)
    return {
      ...samples,
      race: samples.race.map((_, index) => samples.race[from(index)] ?? 0),
      barrier: moved(samples.barrier),
      entryPrice: moved(samples.entryPrice),
      exitPrice: moved(samples.exitPrice),
    }
  })
