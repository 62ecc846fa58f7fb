import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import { columnsOf, rollOutcomes, type ScoredCall, type SeriesCalls } from './call-columns.ts'
import type { Evaluation, TimeframeEvaluation } from './evaluation.ts'
import { scoreCalls } from './score-calls.ts'

/**
 * Scores calls by timeframe and series; the placebo is their outcomes moved by half of each series.
 *
 * @param calls in any order; at most one per series and bar
 * @example formatEvaluation(evaluateVerdicts(outcomes)).join('\n')
 */
export const evaluateVerdicts = (calls: readonly ScoredCall[]): Evaluation =>
  evaluateColumns(columnsOf(calls))

/** The same of calls that are columns already. */
export function evaluateColumns(all: readonly SeriesCalls[]): Evaluation {
  const ofTimeframe = Map.groupBy(all, ({ series }) => series.timeframe)
  const timeframes = TIMEFRAMES.flatMap((timeframe) => {
    const own = ofTimeframe.get(timeframe) ?? []
    return own.length === 0 ? [] : [evaluateCalls(timeframe, own, rollOutcomes(own))]
  })
  return { timeframes }
}

/**
 * Scores the calls of a timeframe, all series together and each alone.
 *
 * @param all at least one call
 * @param placebo calls on outcomes that were moved away from their bars
 */
export function evaluateCalls(
  timeframe: Timeframe,
  all: readonly SeriesCalls[],
  placebo: readonly SeriesCalls[],
): TimeframeEvaluation {
  const bySeries = Map.groupBy(all, ({ series }) => `${series.exchange}.${series.coin}`)
  const placeboScores = placebo.some(({ race }) => race.length > 0) ? scoreCalls(placebo) : null
  return {
    timeframe,
    all: scoreCalls(all),
    series: [...bySeries.keys()].toSorted().flatMap((name) => {
      const own = bySeries.get(name) ?? []
      const [first] = own
      if (first === undefined || !own.some(({ race }) => race.length > 0)) return []
      const { exchange, coin } = first.series
      return [{ exchange, coin, scores: scoreCalls(own) }]
    }),
    placeboAuc: placeboScores?.auc ?? null,
    placebo: placeboScores,
  }
}
