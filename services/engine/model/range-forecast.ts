import type { Candle } from '../../../contracts/domain/candle.ts'
import {
  DAY_MS,
  HOUR_MS,
  TIMEFRAMES,
  type Timeframe,
  timeframeMs,
} from '../../../contracts/domain/timeframes.ts'
import { type Forecast, WINDOW_BARS } from '../../../contracts/domain/verdict.ts'

const HOURS_PER_WEEK = 168
const WEEK_MS = 7 * DAY_MS
/** The Unix epoch was a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS
/** Bars from here on hold so much of a day that its hours do not show. */
const SEASONLESS_BAR_MS = 8 * HOUR_MS

/** Mean of the hourly variances over a stretch of time of a week at most; 1 means an average week. */
export type Season = (fromMs: number, ms: number) => number

/** @param hours variance of each hour of a weekday and of a day of a weekend, UTC */
export function seasonOf(hours: {
  readonly weekday: readonly number[]
  readonly weekend: readonly number[]
}): Season {
  // Two weeks, so that a stretch may go over the end of one.
  const sums = new Float64Array(2 * HOURS_PER_WEEK + 2)
  for (let hour = 0; hour <= 2 * HOURS_PER_WEEK; hour++) {
    const day = hour % HOURS_PER_WEEK < 5 * 24 ? hours.weekday : hours.weekend
    sums[hour + 1] = (sums[hour] ?? 0) + (day[hour % 24] ?? 1)
  }
  const until = (hour: number): number => {
    const whole = Math.floor(hour)
    const below = sums[whole] ?? 0
    return below + (hour - whole) * ((sums[whole + 1] ?? 0) - below)
  }
  return (fromMs, ms) => {
    const hour = ((fromMs - FIRST_MONDAY_MS + WEEK_MS) % WEEK_MS) / HOUR_MS
    const length = ms / HOUR_MS
    return (until(hour + length) - until(hour)) / length
  }
}

/** The numbers of the model that the ranges of one timeframe follow. */
export interface TimeframeRange {
  readonly model: string
  readonly barMs: number
  readonly windowBars: number
  readonly season: Season
  readonly weights: { readonly v2: number; readonly v8: number; readonly m200: number }
  /** In expected moves. */
  readonly inner: number
  readonly outer: number
  readonly deviation: number
}

export type RangeModel = Readonly<Record<Timeframe, TimeframeRange>>

/** Makes the ranges of a model ready to be used. */
export function rangeModelOf({
  version,
  ranges,
  timeframes,
}: {
  readonly version: string
  readonly ranges: {
    readonly weights: TimeframeRange['weights']
    readonly hours: Parameters<typeof seasonOf>[0]
  }
  readonly timeframes: Readonly<Record<Timeframe, Pick<TimeframeRange, 'inner' | 'outer' | 'deviation'>>>
}): RangeModel {
  const season = seasonOf(ranges.hours)
  const rangeOf = (timeframe: Timeframe): TimeframeRange => {
    const barMs = timeframeMs(timeframe)
    const { inner, outer, deviation } = timeframes[timeframe]
    return {
      model: version,
      barMs,
      windowBars: WINDOW_BARS[timeframe],
      season: barMs < SEASONLESS_BAR_MS ? season : () => 1,
      weights: ranges.weights,
      inner,
      outer,
      deviation,
    }
  }
  return Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, rangeOf(timeframe)])) as RangeModel
}

/** The least variance of a bar: prices have ticks, and a bar without a move is no proof that there is none. */
const LEAST_VARIANCE = 1e-10
/** Weight of the squared move that Garman and Klass subtract from the squared half range of a bar. */
const INNER_MOVE = 2 * Math.log(2) - 1
/** Bars of the usual variance, which that of 8 bars is compared with. */
const USUAL_BARS = 350
const MOVE_BARS = 200

/** Variance of a bar, by Garman and Klass, with that of the gap before it. */
export function barVariance({ open, high, low, close }: Candle, closeBefore: number): number {
  const range = Math.log(high / low)
  const inner = Math.log(close / open)
  const gap = open === closeBefore ? 0 : Math.log(open / closeBefore)
  return Math.max(LEAST_VARIANCE, 0.5 * range * range - INNER_MOVE * inner * inner + gap * gap)
}

/** An average that forgets over some inputs; a plain mean of the first ones. */
const average = (before: number, input: number, count: number, most: number): number =>
  before + (input - before) / (count < most ? count : most)

/**
 * How far a series moves: averages of the variance of its bars, and of its absolute returns over a window, each
 * relative to the season. Constant work for each bar.
 */
export class Volatility {
  readonly #range: TimeframeRange
  #v2 = 0
  #v8 = 0
  #usual = 0
  #m200 = 0

  constructor(range: TimeframeRange) {
    this.#range = range
  }

  /**
   * @param bars bars so far, this one included
   * @param closeBefore close of the bar before; of the first bar its own open
   * @param windowReturn log return over as many bars as a window has; NaN while there are fewer
   */
  push(bar: Candle, bars: number, closeBefore: number, windowReturn: number): void {
    const { season, barMs, windowBars } = this.#range
    const variance = barVariance(bar, closeBefore) / season(bar.openTime, barMs)
    this.#v2 = average(this.#v2, variance, bars, 2)
    this.#v8 = average(this.#v8, variance, bars, 8)
    this.#usual = average(this.#usual, variance, bars, USUAL_BARS)
    if (Number.isNaN(windowReturn)) return
    const windowMs = windowBars * barMs
    const usual = windowBars * season(bar.openTime + barMs - windowMs, windowMs)
    const move = Math.abs(windowReturn) / Math.sqrt(usual)
    this.#m200 = average(this.#m200, move, bars - windowBars, MOVE_BARS)
  }

  /** Moves of the last 8 bars over those of the last 350. */
  get liveliness(): number {
    return Math.sqrt(this.#v8 / this.#usual)
  }

  /** Logarithms of the three measures, each a variance per bar. */
  get measures(): { readonly v2: number; readonly v8: number; readonly m200: number } {
    const m200 = Math.max(LEAST_VARIANCE, this.#m200 * this.#m200)
    return { v2: Math.log(this.#v2), v8: Math.log(this.#v8), m200: Math.log(m200) }
  }

  /** How far the price may go within the window that begins at an instant: as far up as down, as log returns. */
  forecast(windowFrom: number): Forecast {
    const { model, weights, season, barMs, windowBars, inner, outer, deviation } = this.#range
    const { v2, v8, m200 } = this.measures
    const logVariance = weights.v2 * v2 + weights.v8 * v8 + weights.m200 * m200
    const move = Math.exp(0.5 * logVariance) * Math.sqrt(windowBars * season(windowFrom, windowBars * barMs))
    const quantile = (moves: number): number => rounded(Math.expm1(moves * move))
    return {
      model,
      volatility: Math.max(1e-8, rounded(deviation * move)),
      p10: quantile(-outer),
      p25: quantile(-inner),
      p50: 0,
      p75: quantile(inner),
      p90: quantile(outer),
    }
  }
}

/** A billionth of the price says nothing. */
const rounded = (fraction: number): number => Math.round(fraction * 1e8) / 1e8
