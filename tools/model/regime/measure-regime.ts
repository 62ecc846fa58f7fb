import type { Candle } from '../../../contracts/candle.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import type { Direction } from '../../../services/engine/call-trigger.ts'
import type { VerdictModel } from '../../../services/engine/model.ts'
import { directionHitShare } from './direction-hit-share.ts'
import { type LabelChanges, labelChanges } from './label-changes.ts'
import { regimeTrack } from './regime-track.ts'
import { type Foresight, livelierThanLately, volatilityForesight } from './volatility-foresight.ts'
import { type ZigzagLeg, zigzag } from './zigzag.ts'

/** Worth of the regime on a history, measured with hindsight. */
export interface RegimeMeasures {
  readonly bars: number
  readonly changes: LabelChanges
  /** Changes of the word, which is one for direction and liveliness. */
  readonly wordChanges: LabelChanges
  /** The same of the plain rule: ADX14 above 25, with the side of the larger DI. */
  readonly adxChanges: LabelChanges
  /** Turning points of the zigzag that judges the label. */
  readonly turns: number
  /** Bars from a turning point until the label points the new way, where it did before the next turn. */
  readonly medianLagBars: number
  /** Share of turns whose leg ended before the label pointed its way. */
  readonly missedShare: number
  /** Share of bars on which the label points the way of the zigzag, and against it. */
  readonly rightShare: number
  readonly wrongShare: number
  /** Share of bars under TRENDING_UP with a higher close 24 bars later, and under TRENDING_DOWN a lower one. */
  readonly upHitShare: number
  readonly downHitShare: number
  /** How well the volatility percentile told a high variance of the next 24 bars from a low one. */
  readonly volatility: { readonly overall: Foresight; readonly recent: Foresight }
  /** Share of bars that are called VOLATILE. */
  readonly volatileShare: number
  /** How well that told a high variance of the next 24 bars from a low one, against recent bars. */
  readonly volatileWord: Foresight
  /** How well each told whether the next 24 bars are livelier than the last 500. */
  readonly livelier: Readonly<Record<'volatileWord' | 'percentile' | 'liveliness', Foresight>>
}

/** A turn of the market is a move of this many ATR14 away from an extreme. */
const TURN_ATR = 8
/** Bars ahead at which it is asked what came of a label. */
export const AHEAD_BARS = 24

function judge(labels: readonly Direction[], legs: readonly ZigzagLeg[]) {
  const lags: number[] = []
  let right = 0
  let wrong = 0
  let judged = 0
  for (const { direction, from, to } of legs) {
    const leg = labels.slice(from + 1, to + 1)
    judged += leg.length
    right += leg.filter((label) => label === direction).length
    wrong += leg.filter((label) => label === -direction).length
    const first = leg.indexOf(direction)
    if (first >= 0) lags.push(first + 1)
  }
  lags.sort((a, b) => a - b)
  return {
    medianLagBars: lags[Math.floor(lags.length / 2)] ?? Number.NaN,
    missedShare: 1 - lags.length / legs.length,
    rightShare: right / judged,
    wrongShare: wrong / judged,
  }
}

/**
 * Measures both halves of the regime. Direction is judged by a zigzag of 8 ATR14 over highs and lows, drawn
 * with hindsight, and by what followed; volatility by what followed.
 *
 * @param model tells the rule of the regime
 * @param bars a whole history; its first bars warm the averages up and count with no direction
 * @example measureRegime(loadModel(), '1h', bars).changes.perDay // about 0.8 on BTC
 */
export function measureRegime(
  model: VerdictModel,
  timeframe: Timeframe,
  bars: readonly Candle[],
): RegimeMeasures {
  const track = regimeTrack(model, timeframe, bars)
  const { directions, adxDirections, ranges, volatilityPercentiles, liveliness, words } = track
  const barMs = timeframeMs(timeframe)
  const closes = bars.map((bar) => bar.close)
  const legs = zigzag(
    bars.map((bar) => bar.high),
    bars.map((bar) => bar.low),
    ranges.map((range) => TURN_ATR * range),
  )
  const volatile = words.map((word) => (word === 'VOLATILE' ? 1 : 0))
  const foresight = (values: readonly number[]) =>
    volatilityForesight(closes, values, {
      after: AHEAD_BARS,
      recent: LIMITS.volatilityBars,
      from: LIMITS.warmUpBars,
    })
  const share = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  return {
    bars: bars.length,
    changes: labelChanges(directions, barMs),
    wordChanges: labelChanges(words, barMs),
    adxChanges: labelChanges(adxDirections, barMs),
    turns: legs.length,
    ...judge(directions, legs),
    upHitShare: directionHitShare(closes, directions, 1, AHEAD_BARS),
    downHitShare: directionHitShare(closes, directions, -1, AHEAD_BARS),
    volatility: foresight(volatilityPercentiles),
    volatileShare: share(volatile),
    volatileWord: foresight(volatile).recent,
    livelier: {
      volatileWord: livelierThanLately(bars, volatile, AHEAD_BARS),
      percentile: livelierThanLately(bars, volatilityPercentiles, AHEAD_BARS),
      liveliness: livelierThanLately(bars, liveliness, AHEAD_BARS),
    },
  }
}
