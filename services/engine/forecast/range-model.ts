import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Candle } from '../../../contracts/candle.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  TIMEFRAMES,
  type Timeframe,
  timeframeMs,
} from '../../../contracts/timeframes.ts'
import { type Forecast, WINDOW_BARS } from '../../../contracts/verdict.ts'
import { CELL, CLOSE_RING, cell, logReturn } from '../cells.ts'
import { usedSeriesSchema } from '../provenance.ts'
import { measureSchema } from '../scoring/scores-schema.ts'

/** Quarter hours of a day, and how much the price moves in each of them: variance, 1 on average over the week. */
export const QUARTERS_PER_DAY = 96
const QUARTER_MS = 15 * MINUTE_MS
const QUARTERS_PER_WEEK = 7 * QUARTERS_PER_DAY
const WEEK_MS = 7 * DAY_MS
/** The Unix epoch was a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** Markets are livelier at some hours than at others, and quieter at weekends; funding is settled at fixed ones. */
export interface DayProfile {
  readonly weekday: readonly number[]
  readonly saturday: readonly number[]
  readonly sunday: readonly number[]
}

/** Which quarter hour of the week an instant lies in, Monday first; with its fraction. */
export const quarterOfWeek = (timeMs: number): number =>
  ((timeMs - FIRST_MONDAY_MS + WEEK_MS) % WEEK_MS) / QUARTER_MS

/** Hours of a day on weekdays, then those of a weekend. */
export const HOURS_TOLD = 48

/** Which of them an instant lies in, UTC. */
export function hourOf(timeMs: number): number {
  const isWeekend = (timeMs - FIRST_MONDAY_MS + WEEK_MS) % WEEK_MS >= 5 * DAY_MS
  return (isWeekend ? 24 : 0) + Math.floor((timeMs % DAY_MS) / HOUR_MS)
}

/** Factor on the move that is expected from an instant on; 1 where the hours tell nothing. */
export const hourFactor = (hours: readonly number[] | undefined, timeMs: number): number =>
  hours?.[hourOf(timeMs)] ?? 1

/** Mean of the profile over a stretch of time, in UTC, of a week at most. */
export function seasonOf({ weekday, saturday, sunday }: DayProfile): (from: number, ms: number) => number {
  const week = [...Array.from({ length: 5 }, () => weekday).flat(), ...saturday, ...sunday]
  // Two weeks, so that a stretch may go over the end of one.
  const sums = new Float64Array(2 * QUARTERS_PER_WEEK + 2)
  for (let quarter = 0; quarter <= 2 * QUARTERS_PER_WEEK; quarter++)
    sums[quarter + 1] = (sums[quarter] ?? 0) + (week[quarter % QUARTERS_PER_WEEK] ?? 1)
  const until = (quarter: number): number => {
    const whole = Math.floor(quarter)
    const below = sums[whole] ?? 0
    return below + (quarter - whole) * ((sums[whole + 1] ?? 0) - below)
  }
  return (from, ms) => {
    const quarter = quarterOfWeek(from)
    const length = ms / QUARTER_MS
    return (until(quarter + length) - until(quarter)) / length
  }
}

/** Bars that the averages of a bar's variance reach back. None reaches so far that a fresh start would show for long. */
const VARIANCE_BARS = [2, 8, 32, 128] as const
/** Bars of the usual variance, and place of the average that is compared with it: that of 8 bars. */
const USUAL_BARS = 350
const LIVELY_VARIANCE = 1
/** And those of how far the price went within windows. */
const MOVE_BARS = [50, 200] as const

/** Number of measures in a forecast: the averages of variance, then those of moves. */
export const MEASURES = VARIANCE_BARS.length + MOVE_BARS.length

/** The least variance of a bar: prices have ticks, and a bar without a move is no proof that there is none. */
const LEAST_VARIANCE = 1e-10

/** Weight of the squared move that Garman and Klass subtract from the squared half range of a bar. */
const INNER_MOVE = 2 * Math.log(2) - 1

/** Variance of a bar, by Garman and Klass, with that of the gap before it: it has the whole range to tell from. */
export function barVariance({ open, high, low, close }: Candle, closeBefore: number): number {
  const range = Math.log(high / low)
  const inner = Math.log(close / open)
  const gap = open === closeBefore ? 0 : Math.log(open / closeBefore)
  return Math.max(LEAST_VARIANCE, 0.5 * range * range - INNER_MOVE * inner * inner + gap * gap)
}

/**
 * Advances what is known of how far a series moves: averages of the variance of bars, taken from their whole range and
 * from the gap before them, and of the absolute return over as many bars as a window has. Both are taken relative to
 * how lively the time of day usually is.
 *
 * @param bars bars so far, this one included; its close is in the cells already
 */
export function updateVolatility(
  cells: Float64Array,
  base: number,
  bars: number,
  bar: Candle,
  { season, barMs, windowBars }: SeriesRange,
): void {
  const { openTime, open } = bar
  const before = cell(cells, base + CELL.closeRing + ((bars - 2) & (CLOSE_RING - 1)))
  const relative = barVariance(bar, bars > 1 ? before : open) / season(openTime, barMs)
  for (let index = 0; index < VARIANCE_BARS.length; index++) {
    const at = base + CELL.variances + index
    const average = cell(cells, at)
    const most = VARIANCE_BARS[index] ?? 1
    cells[at] = average + (relative - average) / (bars < most ? bars : most)
  }
  const usualAt = base + CELL.usualVariance
  const usualBefore = cell(cells, usualAt)
  cells[usualAt] = usualBefore + (relative - usualBefore) / (bars < USUAL_BARS ? bars : USUAL_BARS)
  const moves = bars - windowBars
  if (moves < 1) return
  const windowMs = windowBars * barMs
  const usual = windowBars * season(openTime + barMs - windowMs, windowMs)
  const move = Math.abs(logReturn(cells, base, windowBars)) / Math.sqrt(usual)
  for (let index = 0; index < MOVE_BARS.length; index++) {
    const at = base + CELL.moves + index
    const average = cell(cells, at)
    const most = MOVE_BARS[index] ?? 1
    cells[at] = average + (move - average) / (moves < most ? moves : most)
  }
}

/** How far the price moves within the last 8 bars, over the last 350; both relative to how lively their hours usually are. */
export const livelinessOf = (cells: Float64Array, base: number): number =>
  Math.sqrt(cell(cells, base + CELL.variances + LIVELY_VARIANCE) / cell(cells, base + CELL.usualVariance))

/** One of what the forecast is made of, as the logarithm of a variance per bar. */
export function logMeasure(cells: Float64Array, base: number, index: number): number {
  if (index < VARIANCE_BARS.length) return Math.log(cell(cells, base + CELL.variances + index))
  const move = cell(cells, base + CELL.moves + index - VARIANCE_BARS.length)
  return Math.log(Math.max(LEAST_VARIANCE, move * move))
}

/** The expected move over the window that begins when the newest bar closes, as a log return. */
function expectedMove(cells: Float64Array, base: number, range: SeriesRange): number {
  const { intercept, weights, season, barMs, windowBars, hours } = range
  let logVariance = intercept
  for (let index = 0; index < MEASURES; index++)
    logVariance += (weights[index] ?? 0) * logMeasure(cells, base, index)
  const barClose = cell(cells, base + CELL.openTime) + barMs
  const move = Math.sqrt(Math.exp(logVariance) * windowBars * season(barClose, windowBars * barMs))
  return move * hourFactor(hours, barClose)
}

/** A billionth of the price says nothing. */
const rounded = (fraction: number): number => Math.round(fraction * 1e8) / 1e8

/**
 * How far the price may go within the window that begins when the newest bar closes. Even-handed: what it stays within
 * is as far up as down, as log returns.
 */
export function forecastOf(cells: Float64Array, base: number, range: SeriesRange): Forecast {
  const move = expectedMove(cells, base, range)
  const quantile = (moves: number): number => rounded(Math.expm1(moves * move))
  return {
    model: range.model,
    volatility: Math.max(1e-8, rounded(range.deviation * move)),
    p10: quantile(-range.outer),
    p25: quantile(-range.inner),
    p50: 0,
    p75: quantile(range.inner),
    p90: quantile(range.outer),
  }
}

const finite = z.number()
const positive = z.number().positive()
const share = z.number().min(0).max(1)
const timeMs = z.int().nonnegative()
const quarters = z.array(positive).length(QUARTERS_PER_DAY)

const ofEach = z.strictObject({ own: finite, ewma: finite, har: finite })

/** How well the extent of a window (highest over lowest price) was forecast, beside EWMA and HAR fitted on the same past. */
const extentScoresSchema = z.strictObject({
  /** Share of the variance of the log extent that is explained. */
  r2: ofEach,
  /** Loss of the forecast variance that punishes one too small. */
  qlike: ofEach,
  r2AboveHar: measureSchema,
  qlikeBelowHar: measureSchema,
})

export type ExtentScores = z.infer<typeof extentScoresSchema>

/** How ranges did on bars that their fit had not seen. */
export const rangeScoresSchema = z.strictObject({
  from: timeMs,
  to: timeMs,
  forecasts: z.int().positive(),
  /** Share of returns between p10 and p90, and between p25 and p75. */
  coverage80: share,
  coverage50: share,
  /** Pinball loss of p10 and p90 against others calibrated on the same bars: 1 − own / other. */
  belowConstant: finite,
  belowCoinConstant: finite,
  belowEwma: finite,
  /** Coins in years, and those whose coverage is neither within 74–86 % nor within what luck makes of it. */
  cells: z.int().nonnegative(),
  cellsOutside: z.array(z.string()),
  /** Coins in years of 30 windows or more, and those with a coverage within 76–84 %; former models have none of these. */
  coinYears: z.strictObject({ all: z.int(), within: z.int() }).optional(),
  /** Coverage by fifths, from where the range is narrowest beside the last 200 moves to where it is widest. */
  fifths: z.array(share).length(5).optional(),
  /** Coverage by the hour of the close, UTC, in sixths of the day. */
  hours: z.array(share).length(6).optional(),
  extent: extentScoresSchema.optional(),
})

export type RangeScores = z.infer<typeof rangeScoresSchema>

const timeframeRangeSchema = z.strictObject({
  /** Log variance per bar = intercept + the sum of weight × log measure. */
  intercept: finite,
  weights: z.array(finite).length(MEASURES),
  /** Bounds of the return, up and down, in half and in four fifths of all cases; in expected moves. */
  inner: positive,
  outer: positive,
  /** Standard deviation of the return, in expected moves. */
  deviation: positive,
  /** Windows that the numbers are of. */
  windows: z.int().positive(),
  /** Walked forward; and on the newest bars, on which nothing was chosen. */
  measured: rangeScoresSchema,
  blind: rangeScoresSchema.optional(),
})

/** A model of ranges as stored. */
export const rangeModelSchema = z.strictObject({
  schema: z.literal(1),
  version: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]*$/)
    .max(64),
  provenance: z.strictObject({ from: timeMs, to: timeMs, series: z.array(usedSeriesSchema).min(1) }),
  profile: z.strictObject({ weekday: quarters, saturday: quarters, sunday: quarters }),
  timeframes: z.record(z.enum(TIMEFRAMES), timeframeRangeSchema),
})

export type RangeModelData = z.infer<typeof rangeModelSchema>
export type TimeframeRange = Omit<RangeModelData['timeframes'][Timeframe], 'measured' | 'blind' | 'windows'>

/** The part of the model that a series of one timeframe uses. */
export interface SeriesRange extends TimeframeRange {
  readonly model: string
  readonly barMs: number
  readonly windowBars: number
  /** How lively a stretch of time is; 1 on average, and where bars are too long to tell. */
  readonly season: (from: number, ms: number) => number
  /** A factor on the expected move for each of the {@link HOURS_TOLD}, from newer years than the season. */
  readonly hours?: readonly number[] | undefined
}

/** In the order of `TIMEFRAMES`. */
export type RangeModel = readonly SeriesRange[]

/** Bars from here on hold so much of a day that its hours do not show. */
const SEASONLESS_BAR_MS = 8 * HOUR_MS
const ALWAYS_ONE = (): number => 1

/** Makes a model ready to be used. */
export function rangeModelOf({
  version,
  profile,
  timeframes,
}: {
  readonly version: string
  readonly profile: RangeModelData['profile']
  readonly timeframes: Readonly<Record<Timeframe, TimeframeRange>>
}): RangeModel {
  const season = seasonOf(profile)
  return TIMEFRAMES.map((timeframe) => {
    const barMs = timeframeMs(timeframe)
    const { intercept, weights, inner, outer, deviation } = timeframes[timeframe]
    return {
      model: version,
      barMs,
      windowBars: WINDOW_BARS[timeframe],
      intercept,
      weights,
      inner,
      outer,
      deviation,
      season: barMs < SEASONLESS_BAR_MS ? season : ALWAYS_ONE,
    }
  })
}

/** The ranges of models that name none. */
export const FIRST_RANGES = 'range-1'
/** Ranges that came with this release, the newest first; verdicts of former models are computed again with theirs. */
const KEPT_RANGES = ['range-2', FIRST_RANGES] as const
export const [NEWEST_RANGES] = KEPT_RANGES
const loaded = new Map<string, RangeModel>()

/**
 * The ranges of a version, read once.
 *
 * @throws ServiceError `config_invalid` for a version that did not come with this release, and as {@link readRanges}
 */
export function rangesOf(version: string): RangeModel {
  const ranges = loaded.get(version) ?? rangeModelOf(readRanges(version))
  loaded.set(version, ranges)
  return ranges
}

/** @throws ServiceError `config_invalid` */
export function readRanges(version: string = NEWEST_RANGES): RangeModelData {
  if (!KEPT_RANGES.some((kept) => kept === version))
    throw new ServiceError('config_invalid', {
      message: `The verdict model names the ranges ${version}; this release has ${KEPT_RANGES.join(', ')}. Name one of them, or run the release that the model came with.`,
    })
  const file = new URL(`../models/${version}.json`, import.meta.url)
  try {
    return rangeModelSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)
    throw new ServiceError('config_invalid', {
      message: `The model of ranges at ${String(file)} cannot be used: ${reason}. Restore the file that came with this release.`,
      cause,
    })
  }
}
