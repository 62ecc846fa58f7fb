import type { Outcome } from '../../../contracts/outcome.ts'
import type { Market } from '../../../contracts/series.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import type { BlockMean, Measure } from './intervals.ts'

/** Forecasts of about the same height, beside what came of them. */
export interface ReliabilityBin {
  /** Lowest and highest forecast of the bin. */
  readonly from: number
  readonly to: number
  readonly races: number
  /** Mean forecast, and the share that the upper barrier won. */
  readonly said: number
  readonly happened: number
}

/**
 * Wins on races that do not overlap: of each series, a race counts only where the one counted before it was
 * over. Of races that neither barrier won in time none is here; one that touched both in a bar is lost.
 */
export interface WinRates {
  readonly races: number
  /** What was called, with Wilson's interval. */
  readonly called: Measure
  /** The same share with an interval from blocks of time, because coins move together. */
  readonly calledByBlocks: Measure
  /** What the constants and a fair coin would have won on the same bars. */
  readonly alwaysBuy: Measure
  readonly alwaysSell: Measure
  readonly random: Measure
}

/** What taking one side of some races came to, time-outs at the price that their window closed at. */
export interface ByExit {
  /** Share that ended in favour of the side taken; nobody is favoured where a bar touched both barriers. */
  readonly inFavour: Measure
  /** Mean return in basis points, before and after costs. */
  readonly gross: BlockMean
  readonly net: BlockMean
}

/** Every call that does not overlap the one before, whether a barrier was reached or not. */
export interface EveryCall {
  readonly trades: number
  readonly timeoutShare: number
  readonly called: ByExit
  /** What the constants and a fair coin would have made of the same bars. */
  readonly alwaysBuy: ByExit
  readonly alwaysSell: ByExit
  readonly random: ByExit
}

/** All that is measured of a set of scored calls of one timeframe. Shares and probabilities are fractions. */
export interface Scores {
  readonly verdicts: number
  /** Close of the first and the last bar, Unix milliseconds. */
  readonly from: number
  readonly to: number
  /** Days with a verdict: fewer than lie between the ends where there are holes. */
  readonly observedDays: number
  /** How the races of all verdicts ended, HOLD included. */
  readonly races: Readonly<Record<Outcome['race'], number>>
  /** Share of whole races in which neither barrier was reached; null without any. */
  readonly timeoutShare: number | null
  /** Of forecasts against decided races; null where one side never won. */
  readonly auc: Measure | null
  /** The same over the newest 180 observed days. */
  readonly newestAuc: Measure | null
  readonly brier: Measure | null
  /** Of BUY and SELL alone. */
  readonly brierSpoken: Measure | null
  /** Mean distance of what was said from what happened, over the bins. */
  readonly calibrationError: number | null
  readonly reliability: readonly ReliabilityBin[]
  /** BUY and SELL verdicts, and the share of SELL among them. */
  readonly spoken: number
  readonly sellShare: number | null
  readonly winRates: WinRates | null
  readonly everyCall: EveryCall | null
  /** Changes of the call, per series and day. */
  readonly flipsPerDay: number | null
}

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
