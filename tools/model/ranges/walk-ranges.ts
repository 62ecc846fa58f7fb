import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { hourFactor, type RangeScores } from '../../../services/engine/forecast/range-model.ts'
import { RECIPE } from '../recipe.ts'
import { type Fold, foldsOf } from '../walk-forward.ts'
import { contendersAt, createExtentScores } from './compare-extents.ts'
import { hourFactors } from './fit-hours.ts'
import { fitRange, moveOf, type RangeFit, rootMeanSquare, windowsUntil, withinShares } from './fit-range.ts'
import type { RangeSamples } from './range-samples.ts'
import { createRangeScores } from './score-ranges.ts'

/** A coin with fewer windows says too little: what holds for all is taken. */
const FEWEST_OF_COIN = 300

/** Ranges without the newest bars, from races that were over at an instant. */
function simpleReaches(all: readonly RangeSamples[], until: number) {
  const moves: number[] = []
  const ratios: number[] = []
  const byCoin = new Map<string, number[]>()
  for (const [{ coin, move, ewma }, place] of windowsUntil(all, until)) {
    const size = move[place] ?? 0
    moves.push(size)
    ratios.push(size / (ewma[place] ?? 1))
    const own = byCoin.get(coin)
    if (own === undefined) byCoin.set(coin, [size])
    else own.push(size)
  }
  const outer = (sizes: readonly number[]): number => withinShares(Float64Array.from(sizes)).outer
  const constant = outer(moves)
  const ofCoin = new Map(
    [...byCoin].map(([coin, sizes]) => [coin, sizes.length < FEWEST_OF_COIN ? constant : outer(sizes)]),
  )
  return { constant, ofCoin, ewma: outer(ratios) }
}

/** Moves in expected ones, of forecasts that had not seen them, with when their bar closed and their window was over. */
interface Past {
  readonly closes: number[]
  readonly ends: number[]
  /** As the fit alone has it, and with what the hours of the day add. */
  readonly plain: number[]
  readonly ratios: number[]
}

/** Forecasts from which on ranges are calibrated on forecasts alone; before, on what the fit itself has seen. */
const FEWEST_FORECASTS = 20_000

/**
 * Quantiles of returns, in expected moves: of the forecasts that were made before an instant and had not seen their
 * windows, so that what a fit flatters itself with is taken off.
 */
function calibrated(fit: RangeFit, { ends, ratios }: Past, until: number): RangeFit {
  const over = Float64Array.from(ratios.filter((_, index) => (ends[index] ?? 0) <= until))
  if (over.length < FEWEST_FORECASTS) return fit
  return { ...fit, ...withinShares(over), deviation: rootMeanSquare(over) }
}

/** The scores of a walk, and what it ends with: fitted on all windows, calibrated on all forecasts. */
export interface RangeWalk {
  /** Up to the bars that nothing was chosen on, and on those. */
  readonly measured: RangeScores
  readonly blind: RangeScores | undefined
  readonly fit: RangeFit
}

/** Timeframes with too few windows for six weights of their own; each has a level and quantiles of its own. */
const TOO_FEW: readonly Timeframe[] = ['8h', '12h', '1d']
/** The weights of these are fitted on the windows of all of them. */
const TOGETHER: readonly Timeframe[] = ['4h', ...TOO_FEW]

/** The timeframes on whose windows the weights of one are fitted, itself last. */
export const fittedOn = (timeframe: Timeframe): readonly Timeframe[] =>
  TOO_FEW.includes(timeframe) ? [...TOGETHER.filter((other) => other !== timeframe), timeframe] : [timeframe]

/**
 * Walks through the history of a timeframe: at every step all is fitted on what was over by then, and scored on the bars
 * that follow.
 *
 * @param blindFrom bars that close from then on are scored apart; Unix milliseconds
 * @param report hears about every step
 */
export function walkRanges(
  timeframe: Timeframe,
  samplesOf: ReadonlyMap<Timeframe, readonly RangeSamples[]>,
  blindFrom: number,
  report: (line: string) => void,
): RangeWalk | undefined {
  const all = samplesOf.get(timeframe) ?? []
  const groups = fittedOn(timeframe).map((one) => samplesOf.get(one) ?? [])
  const scoresOf = { measured: scoring(timeframe), blind: scoring(timeframe) }
  const past: Past = { closes: [], ends: [], plain: [], ratios: [] }
  const folds = foldsOf(all, RECIPE).flatMap((fold) =>
    // A step ends there, so that the next one is fitted on everything before.
    fold.from < blindFrom && blindFrom < fold.until
      ? [
          { from: fold.from, until: blindFrom },
          { from: blindFrom, until: fold.until },
        ]
      : [fold],
  )
  for (const [index, fold] of folds.entries()) {
    const fit = calibrated(fitRange(groups, fold.from), past, fold.from)
    forecast(timeframe, all, fold, fit, past, fold.from < blindFrom ? scoresOf.measured : scoresOf.blind)
    report(`${timeframe}: step ${index + 1} of ${folds.length}`)
  }
  const measured = scoresOf.measured.scores()
  if (measured === undefined) return undefined
  const always = Number.POSITIVE_INFINITY
  return { measured, blind: scoresOf.blind.scores(), fit: calibrated(fitRange(groups, always), past, always) }
}

/** The scores of a timeframe's ranges, and of what they say of the extent. */
function scoring(timeframe: Timeframe) {
  const [ranges, extents] = [createRangeScores(), createExtentScores(timeframe)]
  return {
    ranges,
    extents,
    scores(): RangeScores | undefined {
      const scores = ranges.scores()
      return scores && { ...scores, extent: extents.scores() }
    },
  }
}

/** Scores the bars of one step, and adds them to the past. */
function forecast(
  timeframe: Timeframe,
  all: readonly RangeSamples[],
  { from, until }: Fold,
  fit: RangeFit,
  past: Past,
  { ranges, extents }: ReturnType<typeof scoring>,
): void {
  const barMs = timeframeMs(timeframe)
  const { constant, ofCoin, ewma: reach } = simpleReaches(all, from)
  const contenders = contendersAt(all, from, fit)
  const hourly = hourFactors(timeframe, past, from)
  for (const samples of all) {
    const { barClose, ewma, coin, move: moves, windowMs } = samples
    for (let place = 0; place < barClose.length; place++) {
      const at = barClose[place] ?? 0
      if (at < from) continue
      if (at >= until) break
      const plain = moveOf(fit, samples, place)
      const move = plain * hourFactor(hourly, at)
      past.closes.push(at)
      past.ends.push(at + windowMs)
      past.plain.push((moves[place] ?? 0) / plain)
      past.ratios.push((moves[place] ?? 0) / move)
      const own = { inner: fit.inner * move, outer: fit.outer * move }
      const others = { constant, coin: ofCoin.get(coin) ?? constant, ewma: reach * (ewma[place] ?? 0) }
      ranges.add(samples, place, barMs, own, others)
      extents.add(samples, place, contenders)
    }
  }
}
