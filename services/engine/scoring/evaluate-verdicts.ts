import type { Market } from '../../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import { columnsOf, rollOutcomes, type ScoredCall, type SeriesCalls } from './call-columns.ts'
import type { Measure } from './intervals.ts'
import { scoreCalls } from './score-calls.ts'
import type { Scores } from './scores-schema.ts'

export interface SeriesEvaluation extends Market {
  readonly scores: Scores
}

export interface TimeframeEvaluation {
  readonly timeframe: Timeframe
  /** All series together. */
  readonly all: Scores
  readonly series: readonly SeriesEvaluation[]
  /** AUC where outcomes were moved away from their bars: what there is without any skill. */
  readonly placeboAuc: Measure | null
  /** All that the placebo scored; null where it has no calls. */
  readonly placebo: Scores | null
}

/** Shortest timeframe first, of those that have calls. */
export interface Evaluation {
  readonly timeframes: readonly TimeframeEvaluation[]
}

/**
 * Scores calls by timeframe and series; the placebo is their outcomes moved by half of each series.
 *
 * @param calls in any order; at most one per series and bar
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

/** Scores of the forecast that a window closes above its entry. */
export type ClosesEvaluation = Pick<Scores, 'auc' | 'brier' | 'calibrationError'> & {
  readonly timeframe: Timeframe
  readonly windows: number
}

/** Scores that forecast as a race which the side of the close wins; a close at the entry decides nothing. */
export function evaluateCloses(calls: readonly ScoredCall[]): ClosesEvaluation[] {
  const races = calls.flatMap((call): ScoredCall[] => {
    const { closesHigher, closePrice, entryPrice } = call
    if (closesHigher === undefined || typeof closePrice !== 'number' || entryPrice === null) return []
    if (closePrice === entryPrice) return []
    return [
      { ...call, call: 'HOLD', probability: closesHigher, race: closePrice > entryPrice ? 'up' : 'down' },
    ]
  })
  const ofTimeframe = Map.groupBy(races, ({ timeframe }) => timeframe)
  return TIMEFRAMES.flatMap((timeframe) => {
    const own = ofTimeframe.get(timeframe)
    if (own === undefined) return []
    const { auc, brier, calibrationError } = scoreCalls(columnsOf(own))
    return [{ timeframe, windows: own.length, auc, brier, calibrationError }]
  })
}
