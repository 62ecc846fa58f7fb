import type { Candle } from '../../../contracts/candle.ts'
import { barVariance } from '../../../services/engine/forecast/range-model.ts'
import { areaUnderCurve } from '../../../services/engine/scoring/scores.ts'
import { rollingMedian } from './rolling-median.ts'

/** An area under the ROC curve with half its 95 % interval; NaN where there are too few bars. */
export interface Foresight {
  readonly auc: number
  readonly margin: number
}

/** Spans in a block: what happened further apart is taken as independent. */
const SPANS_PER_BLOCK = 50

/** Sum of the squared log returns of the bars after each bar, for every bar that has so many. */
function varianceAfter(closes: readonly number[], after: number): number[] {
  const squares = closes.map((close, index) => Math.log(close / (closes[index - 1] ?? close)) ** 2)
  return squares
    .slice(0, Math.max(0, squares.length - after))
    .map((_, index) => squares.slice(index + 1, index + 1 + after).reduce((sum, square) => sum + square, 0))
}

/**
 * How well a measure told a high realised variance of the bars that follow from a low one, in two senses of
 * high: above the median of the whole history, and above that of the recent spans, which a caller can know.
 *
 * @param measures one per bar, as `closes`
 * @param after bars whose variance is asked for
 * @param recent how many spans, all over by then, make the recent median
 * @param from index of the first bar to ask at, more than `after`; a measure may need a history
 * @example volatilityForesight(closes, percentiles, { after: 24, recent: 1_500, from: 500 }).recent.auc
 */
export function volatilityForesight(
  closes: readonly number[],
  measures: readonly number[],
  { after, recent, from }: { readonly after: number; readonly recent: number; readonly from: number },
): { readonly overall: Foresight; readonly recent: Foresight } {
  const variances = varianceAfter(closes, after)
  const asked = variances.slice(from)
  const median = asked.toSorted((a, b) => a - b)[asked.length >> 1] ?? Number.NaN
  const recentMedians = rollingMedian(variances, recent)
  const foresight = (usualAt: (bar: number) => number): Foresight =>
    areaUnderCurve({
      probability: Float64Array.from(asked, (_, index) => measures[from + index] ?? Number.NaN),
      outcome: Uint8Array.from(asked, (variance, index) => (variance > usualAt(from + index) ? 1 : 0)),
      block: Float64Array.from(asked, (_, index) => Math.floor(index / (SPANS_PER_BLOCK * after))),
    })
  return {
    overall: foresight(() => median),
    // The newest span that is over at a bar began that many bars before it.
    recent: foresight((bar) => recentMedians[bar - after] ?? Number.NaN),
  }
}

/** Bars that a market is livelier than. */
const LATELY_BARS = 500
/** From here on averages over the past do not show where it began. */
const SETTLED_BARS = 1_700

/**
 * How well a measure told whether the bars that follow are livelier than the last 500: by the variance of bars, which
 * has their whole range to tell from.
 *
 * @param measures one per bar
 */
export function livelierThanLately(
  bars: readonly Candle[],
  measures: readonly number[],
  after: number,
): Foresight {
  const sums = new Float64Array(bars.length + 1)
  for (const [index, bar] of bars.entries())
    sums[index + 1] = (sums[index] ?? 0) + barVariance(bar, bars[index - 1]?.close ?? bar.open)
  const mean = (from: number, to: number): number => ((sums[to] ?? 0) - (sums[from] ?? 0)) / (to - from)
  const asked = Array.from(
    { length: Math.max(0, bars.length - after - SETTLED_BARS) },
    (_, index) => SETTLED_BARS + index,
  )
  return areaUnderCurve({
    probability: Float64Array.from(asked, (bar) => measures[bar] ?? Number.NaN),
    outcome: Uint8Array.from(asked, (bar) =>
      mean(bar + 1, bar + 1 + after) > mean(bar + 1 - LATELY_BARS, bar + 1) ? 1 : 0,
    ),
    block: Float64Array.from(asked, (_, index) => Math.floor(index / (SPANS_PER_BLOCK * after))),
  })
}
