import { seriesName } from '../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { BARRIER_FLOOR } from '../../services/engine/barrier.ts'
import { NEWEST_REGIME_RULE } from '../../services/engine/call-trigger.ts'
import { FEATURE_NAMES } from '../../services/engine/features.ts'
import { NEWEST_RANGES } from '../../services/engine/forecast/range-model.ts'
import type { TimeframeGate } from '../../services/engine/gate.ts'
import { REALISED_VOLATILITY_BARS } from '../../services/engine/indicators/update-indicators.ts'
import { type Skill, scoringOf, type VerdictModelData } from '../../services/engine/model.ts'
import type { Provenance, Recipe, UsedSeries } from '../../services/engine/provenance.ts'
import { blockOf, type SeriesCalls } from '../../services/engine/scoring/call-columns.ts'
import type { TimeframeEvaluation } from '../../services/engine/scoring/evaluate-verdicts.ts'
import { evaluateCalls } from '../../services/engine/scoring/evaluate-verdicts.ts'
import { blockMean, type Measure } from '../../services/engine/scoring/intervals.ts'
import { scoreCalls } from '../../services/engine/scoring/score-calls.ts'
import type { Measured } from '../../services/engine/scoring/scores-schema.ts'
import { gateOf } from './gate.ts'
import { roundedNumbers } from './rounded-numbers.ts'
import type { SeriesHistory } from './series-history.ts'
import { closesAsRaces, type SeriesSamples, seriesSamples } from './series-samples.ts'
import { lackOfSkill } from './skill.ts'
import {
  fitUntil,
  movedOutcomes,
  partOf,
  type Scaling,
  type Training,
  type WalkedCalls,
  walkForward,
} from './walk-forward.ts'

/** Hears a line per step of a long piece of work. */
export type Report = (line: string) => void

const day = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10)

const forEachTimeframe = <Value>(valueOf: (timeframe: Timeframe) => Value): Record<Timeframe, Value> =>
  Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, valueOf(timeframe)])) as Record<
    Timeframe,
    Value
  >

/** Measures every feature and says nothing. */
const UNFITTED = scoringOf(
  FEATURE_NAMES,
  1,
  forEachTimeframe(() => ({ skill: false, reason: 'nothing was fitted' })),
)

/** Replays histories into samples, by timeframe; each is let go before the next is read. */
export async function prepare(
  histories: AsyncIterable<SeriesHistory> | Iterable<SeriesHistory>,
  recipe: Recipe,
  report: Report,
): Promise<Training> {
  const samplesOf = new Map<Timeframe, SeriesSamples[]>()
  for await (const history of histories) {
    const samples = seriesSamples(UNFITTED, history)
    const { series, bars, isSpot } = history
    report(
      `${seriesName(series)}${isSpot ? ' (spot)' : ''} from ${day(bars[0]?.openTime ?? 0)}: ${bars.length} bars, ${samples.race.length} verdicts`,
    )
    if (samples.race.length === 0) continue
    const known = samplesOf.get(series.timeframe)
    if (known === undefined) samplesOf.set(series.timeframe, [samples])
    else known.push(samples)
  }
  return { samplesOf, columns: FEATURE_NAMES.length, recipe }
}

/** The scores of a timeframe, and what makes log-odds of its scores from now on. */
export interface RecipeScore {
  readonly evaluation: TimeframeEvaluation
  readonly gate: TimeframeGate
  readonly measured: Measured
  readonly scaling: Scaling
}

/**
 * The honest score of a recipe on a timeframe: walked forward out of sample, with the same walk on outcomes
 * that were moved away from their bars beside it. Undefined where there is nothing to forecast.
 */
export function evaluateRecipe(
  training: Training,
  timeframe: Timeframe,
  report: Report,
): RecipeScore | undefined {
  const walk = (on: Training, what: string) =>
    walkForward(on, timeframe, (fold, done, total) => {
      report(`${timeframe}${what}: step ${done} of ${total}, ${day(fold.from)} to ${day(fold.until)}`)
    })
  const { calls, plain, scaling } = walk(training, '')
  if (!calls.some(({ race }) => race.length > 0)) return undefined
  const placebo = walk(changed(training, timeframe, movedOutcomes), ' placebo')
  const evaluation = evaluateCalls(timeframe, calls, placebo.calls)
  const { chosenUntil = END } = training.recipe
  const measured = {
    ...evaluation.all,
    placeboAuc: evaluation.placeboAuc,
    chosenAuc: aucOf(between(calls, 0, chosenUntil)),
    untouchedAuc: aucOf(between(calls, chosenUntil, END)),
    closedAsCalled: closedAsCalled(calls),
    untouchedGross: grossFrom(calls, chosenUntil),
    calibrations: {
      chosen: [plain, calls].map((all) => calibrationOf(between(all, 0, chosenUntil))),
      untouched: [plain, calls].map((all) => calibrationOf(between(all, chosenUntil, END))),
    },
  }
  return { evaluation, measured, gate: gateOf(timeframe, calls), scaling }
}

const END = Number.POSITIVE_INFINITY

/** Calls at bars that close from one instant on and before another. */
const between = (all: readonly SeriesCalls[], from: number, until: number): SeriesCalls[] =>
  all.flatMap((calls) => {
    const isWithin = (at: number): boolean => at >= from && at < until
    const first = calls.barClose.findIndex(isWithin)
    return first < 0 ? [] : [partOf(calls, first, calls.barClose.findLastIndex(isWithin) + 1)]
  })

/** AUC of some calls; null without both sides. */
const aucOf = (some: readonly SeriesCalls[]): Measure | null =>
  some.length === 0 ? null : scoreCalls(some).auc

const calibrationOf = (some: readonly SeriesCalls[]): number | null =>
  some.length === 0 ? null : scoreCalls(some).calibrationError

/** Mean return of the calls apart from an instant on, in basis points before costs. */
function grossFrom(all: readonly SeriesCalls[], from: number): Measure | null {
  const some = between(all, from, END)
  const gross = some.length === 0 ? undefined : scoreCalls(some).everyCall?.called.gross
  return gross === undefined ? null : { value: gross.value, low: gross.low, high: gross.high }
}

/** How often windows closed on the side that was called; null without a call. */
function closedAsCalled(all: readonly WalkedCalls[]): Measure | null {
  const [asCalled, blocks]: [number[], number[]] = [[], []]
  for (const { series, barClose, sign, close } of all) {
    for (const [place, side] of sign.entries()) {
      const rise = close[place] ?? Number.NaN
      if (side === 0 || Number.isNaN(rise) || rise === 0) continue
      asCalled.push(side > 0 === rise > 0 ? 1 : 0)
      blocks.push(blockOf(series.timeframe, barClose[place] ?? 0))
    }
  }
  const mean = blockMean(asCalled, blocks)
  return mean === undefined ? null : { value: mean.value, low: mean.low, high: mean.high }
}

/** The training of a timeframe with other samples in place of its own. */
function changed(
  training: Training,
  timeframe: Timeframe,
  change: (samples: readonly SeriesSamples[]) => SeriesSamples[],
): Training {
  const used = new Set([timeframe, ...training.recipe.sources[timeframe]])
  const samplesOf = [...training.samplesOf].flatMap(([source, samples]): [Timeframe, SeriesSamples[]][] =>
    used.has(source) ? [[source, change(samples)]] : [],
  )
  return { ...training, samplesOf: new Map(samplesOf) }
}

interface Judged {
  readonly skill: Skill
  /** The gate of a timeframe that speaks. */
  readonly gate?: TimeframeGate
}

function judge(timeframe: Timeframe, training: Training, report: Report): Judged {
  const scored = evaluateRecipe(training, timeframe, report)
  if (scored === undefined)
    return silent({ reason: `no skill was measured at ${timeframe}: too few bars were recorded` })
  const { measured, gate, scaling } = scored
  const reason = lackOfSkill(timeframe, measured)
  if (reason !== undefined) return silent({ reason, measured })
  const { scales, coefficients, races } = fitUntil(training, timeframe, END)
  return {
    skill: {
      skill: true,
      scales: [...scales],
      coefficients: [...coefficients],
      races,
      slope: scaling.slope,
      offset: scaling.offset,
      ...(scaling.coinSlopes.size > 0 && {
        coinSlopes: Object.fromEntries([...scaling.coinSlopes].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      }),
      measured,
    },
    gate,
  }
}

const silent = (about: Omit<Skill & { readonly skill: false }, 'skill'>): Judged => ({
  skill: { skill: false, ...about },
})

/** Both forecasts of a timeframe: which barrier comes first, and on which side of the entry the window closes. */
function judgeBoth(timeframe: Timeframe, training: Training, report: Report) {
  const recipe = { ...training.recipe, coinSlopes: [] }
  const closing = { ...changed(training, timeframe, (samples) => samples.map(closesAsRaces)), recipe }
  const { skill, gate } = judge(timeframe, training, report)
  const closes = judge(timeframe, closing, (line) => report(`closes, ${line}`)).skill
  return { skill: { ...skill, closes }, ...(gate && { gate }) }
}

/**
 * Fits a model on all the data and scores its recipe walk-forward. The same data gives the same model.
 *
 * @param version what the model is to be called
 * @param used what the data was read from; at least one
 */
export function fitModel(
  version: string,
  training: Training,
  used: readonly UsedSeries[],
  report: Report,
): VerdictModelData {
  const provenance: Provenance = {
    recipe: training.recipe,
    label: { deviations: 1, deviationBars: REALISED_VOLATILITY_BARS, floor: BARRIER_FLOOR },
    from: Math.min(...used.map(({ from }) => from)),
    to: Math.max(...used.map(({ to }) => to)),
    series: [...used],
  }
  const judged = forEachTimeframe((timeframe) => judgeBoth(timeframe, training, report))
  const gates = TIMEFRAMES.flatMap((timeframe) => {
    const { gate } = judged[timeframe]
    return gate === undefined ? [] : [[timeframe, gate] as const]
  })
  return roundedNumbers({
    schema: 2,
    version,
    provenance,
    clip: training.recipe.clip,
    features: [...FEATURE_NAMES],
    timeframes: forEachTimeframe((timeframe) => judged[timeframe].skill),
    gate: Object.fromEntries(gates),
    ranges: NEWEST_RANGES,
    regime: NEWEST_REGIME_RULE,
  })
}
