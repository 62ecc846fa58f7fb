import type { Market } from '../../../contracts/series.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import type { Measure } from './intervals.ts'
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
