import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { DAY_MS, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { nextCall } from '../../services/engine/call-trigger.ts'
import type { Recipe } from '../../services/engine/provenance.ts'
import { rolled, type SeriesCalls } from '../../services/engine/scoring/call-columns.ts'
import { fitScore, plattSlope, type ScoreFit } from './score-fit.ts'
import type { SeriesSamples } from './series-samples.ts'

const UP = RACE_OUTCOMES.indexOf('up')
const DOWN = RACE_OUTCOMES.indexOf('down')

/** One stretch of a walk: fitted on what was over at `from`, it forecasts the bars until `until`. */
export interface Fold {
  readonly from: number
  readonly until: number
}

/** Samples of all timeframes, and how they are fitted. */
export interface Training {
  readonly samplesOf: ReadonlyMap<Timeframe, readonly SeriesSamples[]>
  /** Features of a sample. */
  readonly columns: number
  readonly recipe: Recipe
}

/** Inputs of a walk. */
type Closes = Pick<SeriesSamples, 'barClose'>

const firstClose = (all: readonly Closes[]): number =>
  all.reduce((first, { barClose }) => Math.min(first, barClose[0] ?? first), Number.POSITIVE_INFINITY)

const lastClose = (all: readonly Closes[]): number =>
  all.reduce((last, { barClose }) => Math.max(last, barClose.at(-1) ?? last), 0)

/** The stretches of a walk through a timeframe's history, in order; none where there is no history. */
export function foldsOf(
  target: readonly Closes[],
  recipe: Pick<Recipe, 'firstTrainingShare' | 'firstTrainingDays' | 'refitDays' | 'fewestRefits'>,
): Fold[] {
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

/** The coefficients of a timeframe, of all races that were over at an instant. */
export function fitUntil(training: Training, timeframe: Timeframe, until: number): ScoreFit {
  const { samplesOf, columns, recipe } = training
  const groups = recipe.sources[timeframe].flatMap((source) => {
    const samples = samplesOf.get(source)
    return samples === undefined ? [] : [samples]
  })
  return fitScore(groups, until, columns, recipe)
}

export type WalkedCalls = SeriesCalls & Pick<SeriesSamples, 'close'>

/** Result of a walk through the history of a timeframe. */
export interface Walk {
  /** Calls by forecasts that had not seen their bars. */
  readonly calls: readonly WalkedCalls[]
  /** Factor for the scores of the next fit. */
  readonly slope: number
}

/**
 * Walks through the history of a timeframe: at every step the coefficients are fitted on what was over by then,
 * calibrated on the forecasts of all steps before whose races were over too, and forecast the bars that follow.
 * So the newest past gives coefficients as well, and no forecast is calibrated on bars that its fit has seen.
 *
 * @param report hears about every step
 */
export function walkForward(
  training: Training,
  timeframe: Timeframe,
  report: (fold: Fold, done: number, total: number) => void = () => undefined,
): Walk {
  const { recipe } = training
  const target = training.samplesOf.get(timeframe) ?? []
  const folds = foldsOf(target, recipe)
  const start = folds[0]?.from ?? Number.POSITIVE_INFINITY
  const tracks = target.map((samples) => createTrack(samples, start))
  for (const [done, fold] of folds.entries()) {
    const score = fitUntil(training, timeframe, fold.from)
    const slope = slopeOf(tracks, fold.from, recipe)
    for (const track of tracks) track.forecast(score, slope, fold.until)
    report(fold, done + 1, folds.length)
  }
  return { calls: tracks.map(({ calls }) => calls), slope: slopeOf(tracks, Number.POSITIVE_INFINITY, recipe) }
}

/** A series on its way through a walk. */
interface Track {
  readonly calls: WalkedCalls
  /** Score of every bar that was forecast; as many as `done` says. */
  readonly scores: Float64Array
  done: number
  forecast(score: ScoreFit, slope: number, until: number): void
}

function createTrack(samples: SeriesSamples, start: number): Track {
  let first = 0
  while (first < samples.barClose.length && (samples.barClose[first] ?? 0) < start) first += 1
  const calls = {
    series: samples.series,
    barClose: samples.barClose.subarray(first),
    race: samples.race.subarray(first),
    barrier: samples.barrier.subarray(first),
    rise: samples.rise.subarray(first),
    close: samples.close.subarray(first),
    probability: new Float32Array(samples.race.length - first),
    sign: new Int8Array(samples.race.length - first),
  }
  const scores = new Float64Array(calls.race.length)
  const track: Track = {
    calls,
    scores,
    done: 0,
    forecast(score, slope, until) {
      let sign = calls.sign[track.done - 1] ?? 0
      for (; track.done < calls.race.length && (calls.barClose[track.done] ?? 0) < until; track.done++) {
        const place = track.done
        scores[place] = score.scoreOf(samples, first + place)
        const probability = 1 / (1 + Math.exp(-slope * (scores[place] ?? 0)))
        sign = nextCall(sign, probability)
        calls.probability[place] = probability
        calls.sign[place] = sign
      }
    },
  }
  return track
}

/** The slope that the forecasts made so far call for, of those whose races were over at an instant. */
function slopeOf(tracks: readonly Track[], until: number, recipe: Recipe): number {
  const room = tracks.reduce((sum, { done }) => sum + done, 0)
  const scores = new Float64Array(room)
  const outcomes = new Uint8Array(room)
  let count = 0
  for (const { calls, scores: own, done } of tracks) {
    const { timeframe } = calls.series
    const windowMs = WINDOW_BARS[timeframe] * timeframeMs(timeframe)
    for (let place = 0; place < done; place++) {
      const race = calls.race[place]
      if ((race !== UP && race !== DOWN) || (calls.barClose[place] ?? 0) + windowMs > until) continue
      scores[count] = own[place] ?? 0
      outcomes[count] = race === UP ? 1 : 0
      count += 1
    }
  }
  if (count < recipe.fewestRaces) return recipe.firstSlope
  const slope = plattSlope(scores.subarray(0, count), outcomes.subarray(0, count))
  return Math.min(recipe.steepestSlope, Math.max(0, slope))
}

/**
 * Samples whose outcomes are those of bars half the history later, from its end going on at its beginning: the
 * same recipe on them finds only what chance put there.
 */
export const movedOutcomes = (all: readonly SeriesSamples[]): SeriesSamples[] =>
  all.map((samples) => ({
    ...samples,
    race: rolled(samples.race),
    barrier: rolled(samples.barrier),
    rise: rolled(samples.rise),
  }))

/** Some calls of a series, one after the other. */
export const partOf = (calls: SeriesCalls, from: number, until: number): SeriesCalls => ({
  series: calls.series,
  barClose: calls.barClose.subarray(from, until),
  probability: calls.probability.subarray(from, until),
  sign: calls.sign.subarray(from, until),
  race: calls.race.subarray(from, until),
  barrier: calls.barrier.subarray(from, until),
  rise: calls.rise.subarray(from, until),
})
