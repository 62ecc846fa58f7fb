import { ServiceError } from '../../contracts/errors.ts'
import { seriesName } from '../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { BARRIER_FLOOR } from '../../services/engine/barrier.ts'
import { FEATURE_NAMES, FEATURES } from '../../services/engine/features.ts'
import { REALISED_VOLATILITY_BARS } from '../../services/engine/indicators/update-indicators.ts'
import type { ScoringModel, TimeframeSkill, VerdictModelData } from '../../services/engine/model.ts'
import type { Provenance, Recipe } from '../../services/engine/provenance.ts'
import { evaluateVerdicts } from '../../services/engine/scoring/evaluate-verdicts.ts'
import type { TimeframeEvaluation } from '../../services/engine/scoring/evaluation.ts'
import { describeHistory } from './describe-history.ts'
import { roundedNumbers } from './rounded-numbers.ts'
import type { ScoreFit } from './score-fit.ts'
import type { SeriesHistory } from './series-history.ts'
import { type SeriesSamples, seriesSamples } from './series-samples.ts'
import { lackOfSkill } from './skill.ts'
import { fitWhole, movedOutcomes, type WholeFit, walkForward } from './walk-forward.ts'

/** Hears a line per step of a long piece of work. */
export type Report = (line: string) => void

/** Histories of all timeframes, and the samples that were made of them. */
export interface TrainingData {
  readonly histories: readonly SeriesHistory[]
  readonly samplesOf: ReadonlyMap<Timeframe, readonly SeriesSamples[]>
}

const day = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10)

/** Calls HOLD at every timeframe. */
const silent = (reason: string): VerdictModelData['timeframes'] =>
  Object.fromEntries(
    TIMEFRAMES.map((timeframe) => [timeframe, { skill: false, reason }]),
  ) as VerdictModelData['timeframes']

/** Measures every feature and says nothing. */
const UNFITTED: ScoringModel = {
  intercept: 0,
  clip: 1,
  names: FEATURE_NAMES,
  features: FEATURE_NAMES.map((name) => FEATURES[name]),
  means: new Float64Array(FEATURE_NAMES.length),
  inverseScales: new Float64Array(FEATURE_NAMES.length).fill(1),
  coefficients: new Float64Array(FEATURE_NAMES.length),
  timeframes: silent('nothing was fitted'),
}

/** Replays histories into samples, by timeframe. */
export function prepare(histories: readonly SeriesHistory[], report: Report): TrainingData {
  const samplesOf = new Map<Timeframe, SeriesSamples[]>()
  for (const history of histories) {
    const samples = seriesSamples(UNFITTED, history)
    report(`${seriesName(history.series)}: ${history.bars.length} bars, ${samples.count} verdicts`)
    if (samples.count === 0) continue
    const { timeframe } = history.series
    samplesOf.set(timeframe, [...(samplesOf.get(timeframe) ?? []), samples])
  }
  return { histories, samplesOf }
}

/** @throws ServiceError `market_data_missing` where the timeframe that gives the coefficients has no samples */
function sourceOf({ samplesOf }: TrainingData, { fitTimeframe }: Recipe): readonly SeriesSamples[] {
  const source = samplesOf.get(fitTimeframe)
  if (source !== undefined) return source
  throw new ServiceError('market_data_missing', {
    message: `The coefficients are fitted on ${fitTimeframe} bars, and the data has no ${fitTimeframe} series that is long enough for a verdict; add one, or bars that it can be made of.`,
  })
}

/**
 * The honest score of a recipe on a timeframe: walked forward out of sample, with the same walk on outcomes
 * that were moved away from their bars beside it. Undefined where there is nothing to forecast.
 *
 * @throws ServiceError `market_data_missing`
 */
export function evaluateRecipe(
  data: TrainingData,
  timeframe: Timeframe,
  recipe: Recipe,
  report: Report,
): TimeframeEvaluation | undefined {
  const source = sourceOf(data, recipe)
  const target = data.samplesOf.get(timeframe)
  if (target === undefined) return undefined
  const walk = (of: readonly SeriesSamples[], from: readonly SeriesSamples[], what: string) =>
    walkForward(of, from, FEATURE_NAMES.length, recipe, (fold, done, total) => {
      report(`${timeframe}${what}: step ${done} of ${total}, ${day(fold.from)} to ${day(fold.until)}`)
    })
  const calls = walk(target, source, '')
  const movedSource = movedOutcomes(source)
  const movedTarget = timeframe === recipe.fitTimeframe ? movedSource : movedOutcomes(target)
  const placebo = walk(movedTarget, movedSource, ' placebo')
  return evaluateVerdicts(calls, { placebo }).timeframes[0]
}

function provenanceOf(recipe: Recipe, histories: readonly SeriesHistory[], races: number): Provenance {
  const series = histories.flatMap((history) => describeHistory(history) ?? [])
  return {
    recipe,
    label: { deviations: 1, deviationBars: REALISED_VOLATILITY_BARS, floor: BARRIER_FLOOR },
    from: series.reduce((first, { from }) => Math.min(first, from), Number.MAX_SAFE_INTEGER),
    to: series.reduce((last, { to }) => Math.max(last, to), 0),
    races,
    series,
  }
}

function modelData(
  version: string,
  provenance: Provenance,
  fit: ScoreFit,
  skillOf: (timeframe: Timeframe) => TimeframeSkill,
): VerdictModelData {
  return {
    version,
    provenance,
    intercept: 0,
    clip: provenance.recipe.clip,
    features: FEATURE_NAMES.map((name, index) => ({
      name,
      mean: 0,
      scale: fit.scales[index] ?? 1,
      coefficient: fit.coefficients[index] ?? 0,
    })),
    timeframes: Object.fromEntries(
      TIMEFRAMES.map((timeframe) => [timeframe, skillOf(timeframe)]),
    ) as VerdictModelData['timeframes'],
  }
}

function skillAt(
  timeframe: Timeframe,
  data: TrainingData,
  fit: WholeFit,
  evaluation: TimeframeEvaluation | undefined,
): TimeframeSkill {
  const target = data.samplesOf.get(timeframe)
  if (target === undefined || evaluation === undefined) {
    return { skill: false, reason: `no skill was measured at ${timeframe}: too few bars were recorded` }
  }
  const measured = { ...evaluation.all, placeboAuc: evaluation.placeboAuc }
  const reason = lackOfSkill(timeframe, measured)
  if (reason !== undefined) return { skill: false, reason, measured }
  const slope = fit.slopeOf(target)
  if (slope === undefined) {
    return { skill: false, reason: `the newest bars of ${timeframe} bear no calibration`, measured }
  }
  return { skill: true, slope, offset: 0, measured }
}

/**
 * Fits a model on all the data and scores its recipe walk-forward. The same data gives the same model.
 *
 * @param version what the model is to be called
 * @throws ServiceError `market_data_missing` where there are no bars of the timeframe it is fitted on
 * @example fitModel('barrier-2', prepare(histories, report), RECIPE, report).features.length
 */
export function fitModel(
  version: string,
  data: TrainingData,
  recipe: Recipe,
  report: Report,
): VerdictModelData {
  const fit = fitWhole(sourceOf(data, recipe), FEATURE_NAMES.length, recipe)
  const evaluations = new Map(
    TIMEFRAMES.map((timeframe) => [timeframe, evaluateRecipe(data, timeframe, recipe, report)]),
  )
  const used = data.histories.filter(({ series }) => data.samplesOf.has(series.timeframe))
  const provenance = provenanceOf(recipe, used, fit.score.races)
  return roundedNumbers(
    modelData(version, provenance, fit.score, (timeframe) =>
      skillAt(timeframe, data, fit, evaluations.get(timeframe)),
    ),
  )
}
