import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { DAY_MS, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { nextCall } from '../../services/engine/call-trigger.ts'
import type { Recipe } from '../../services/engine/provenance.ts'
import { rolled, type SeriesCalls } from '../../services/engine/scoring/call-columns.ts'
import { coinSlope, fitScore, offsetOf, plattSlope, type ScoreFit } from './score-fit.ts'
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
  /** For the scores of the next fit. */
  readonly scaling: Scaling
  /** The same forecasts without the offsets. */
  readonly plain: readonly SeriesCalls[]
}

/** Makes log-odds of scores: slope × slope of the coin × score + offset. */
export interface Scaling {
  readonly slope: number
  readonly coinSlopes: ReadonlyMap<string, number>
  readonly offset: number
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
    const scaling = scalingOf(tracks, fold.from, recipe, timeframe)
    for (const track of tracks) track.forecast(score, scaling, fold.until)
    report(fold, done + 1, folds.length)
  }
  return {
    calls: tracks.map(({ calls }) => calls),
    plain: tracks.map(({ calls, plain }) => ({ ...calls, probability: plain })),
    scaling: scalingOf(tracks, Number.POSITIVE_INFINITY, recipe, timeframe),
  }
}

/** A series on its way through a walk. */
interface Track {
  readonly calls: WalkedCalls
  /** Score of every bar that was forecast; as many as `done` says. */
  readonly scores: Float64Array
  /** Probabilities without the offset. */
  readonly plain: Float32Array
  done: number
  forecast(score: ScoreFit, scaling: Scaling, until: number): void
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
    plain: new Float32Array(calls.race.length),
    done: 0,
    forecast(score, { slope, coinSlopes, offset }, until) {
      const factor = slope * (coinSlopes.get(samples.series.coin) ?? 1)
      let sign = calls.sign[track.done - 1] ?? 0
      for (; track.done < calls.race.length && (calls.barClose[track.done] ?? 0) < until; track.done++) {
        const place = track.done
        scores[place] = score.scoreOf(samples, first + place)
        const logOdds = factor * (scores[place] ?? 0)
        const probability = 1 / (1 + Math.exp(-logOdds - offset))
        track.plain[place] = 1 / (1 + Math.exp(-logOdds))
        sign = nextCall(sign, probability)
        calls.probability[place] = probability
        calls.sign[place] = sign
      }
    },
  }
  return track
}

/** The scaling that the forecasts made so far call for, of those whose races were over at an instant. */
function scalingOf(
  tracks: readonly Track[],
  until: number,
  { fewestRaces, firstSlope, steepestSlope, offsets, habitDays, coinSlopes }: Recipe,
  timeframe: Timeframe,
): Scaling {
  const room = tracks.reduce((sum, { done }) => sum + done, 0)
  const [scores, closes] = [new Float64Array(room), new Float64Array(room)]
  const outcomes = new Uint8Array(room)
  const coins: string[] = []
  const windowBars = WINDOW_BARS[timeframe]
  let count = 0
  for (const { calls, scores: own, done } of tracks) {
    for (let place = 0; place < done; place++) {
      const race = calls.race[place]
      const close = calls.barClose[place] ?? 0
      if ((race !== UP && race !== DOWN) || close + windowBars * timeframeMs(timeframe) > until) continue
      scores[count] = own[place] ?? 0
      closes[count] = close
      coins[count] = calls.series.coin
      outcomes[count] = race === UP ? 1 : 0
      count += 1
    }
  }
  if (count < fewestRaces) return { slope: firstSlope, coinSlopes: new Map(), offset: 0 }
  const raw = plattSlope(scores.subarray(0, count), outcomes.subarray(0, count))
  const slope = Math.min(steepestSlope, Math.max(0, raw))
  /** Log-odds so far, and outcomes, of some of them. */
  const some = (isOne: (row: number) => boolean, logOddsOf: (row: number) => number) => {
    const rows = Array.from({ length: count }, (_, row) => row).filter(isOne)
    return [Float64Array.from(rows, logOddsOf), Uint8Array.from(rows, (row) => outcomes[row] ?? 0)] as const
  }
  const plain = (row: number): number => slope * (scores[row] ?? 0)
  const slopes = new Map(
    [...new Set(coinSlopes?.includes(timeframe) ? coins : [])].map((coin) => [
      coin,
      coinSlope(...some((row) => coins[row] === coin, plain), windowBars),
    ]),
  )
  if (!offsets?.includes(timeframe)) return { slope, coinSlopes: slopes, offset: 0 }
  const newest = closes.subarray(0, count).reduce((last, close) => Math.max(last, close), 0)
  const since = Math.min(until, newest) - (habitDays ?? 0) * DAY_MS
  const logOdds = (row: number): number => plain(row) * (slopes.get(coins[row] ?? '') ?? 1)
  return {
    slope,
    coinSlopes: slopes,
    offset: offsetOf(...some((row) => (closes[row] ?? 0) > since, logOdds)),
  }
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
