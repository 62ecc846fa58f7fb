import type { Market } from '../../../contracts/series.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { Evaluation, ScoredCall, SeriesEvaluation, TimeframeEvaluation } from './evaluation.ts'
import { rollOutcomes } from './roll-outcomes.ts'
import { scoreCalls } from './score-calls.ts'

/**
 * Scores calls by timeframe and series.
 *
 * @param calls in any order; at most one per series and bar
 * @param placebo calls of the same recipe fitted on labels that were moved; without them the outcomes of
 * `calls` are moved by half of each series
 * @example formatEvaluation(evaluateVerdicts(outcomes)).join('\n')
 */
export function evaluateVerdicts(
  calls: readonly ScoredCall[],
  { placebo }: { readonly placebo?: readonly ScoredCall[] } = {},
): Evaluation {
  const ofTimeframe = Map.groupBy(calls, (call) => call.timeframe)
  const placeboOf = Map.groupBy(placebo ?? [], (call) => call.timeframe)
  const timeframes = TIMEFRAMES.flatMap((timeframe): TimeframeEvaluation[] => {
    const own = ofTimeframe.get(timeframe)
    if (own === undefined) return []
    const ordered = own.toSorted((a, b) => a.barClose - b.barClose || compareMarkets(a, b))
    const bySeries = Map.groupBy(ordered, ({ exchange, coin }) => `${exchange}.${coin}`)
    const series = [...bySeries.values()].flatMap((some): SeriesEvaluation[] => {
      const [first] = some
      if (first === undefined) return []
      return [{ exchange: first.exchange, coin: first.coin, scores: scoreCalls(some) }]
    })
    const moved = placebo === undefined ? rollOutcomes(ordered) : (placeboOf.get(timeframe) ?? [])
    const placeboScores =
      moved.length === 0 ? null : scoreCalls(moved.toSorted((a, b) => a.barClose - b.barClose))
    return [
      {
        timeframe,
        all: scoreCalls(ordered),
        series: series.toSorted(compareMarkets),
        placeboAuc: placeboScores?.auc ?? null,
        placebo: placeboScores,
      },
    ]
  })
  return { timeframes }
}

function compareMarkets(a: Market, b: Market): number {
  if (a.exchange !== b.exchange) return a.exchange < b.exchange ? -1 : 1
  return a.coin < b.coin ? -1 : a.coin > b.coin ? 1 : 0
}
