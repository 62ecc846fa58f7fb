import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { HOUR_MS, TIMEFRAMES, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/verdict.ts'
import { usedSeriesSchema } from '../provenance.ts'
import { QUARTERS_PER_DAY, seasonOf } from './day-profile.ts'
import { MEASURES } from './measures.ts'

const finite = z.number()
const positive = z.number().positive()
const share = z.number().min(0).max(1)
const timeMs = z.int().nonnegative()
const quarters = z.array(positive).length(QUARTERS_PER_DAY)

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
})

export type RangeScores = z.infer<typeof rangeScoresSchema>

const timeframeRangeSchema = z.strictObject({
  /** Log variance per bar = intercept + the sum of weight × log measure. */
  intercept: finite,
  weights: z.array(finite).length(MEASURES),
  /** What the return stays within, up or down, in half and in four fifths of all cases; in expected moves. */
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

/** What a series of a timeframe needs of the model. */
export interface SeriesRange extends TimeframeRange {
  readonly model: string
  readonly barMs: number
  readonly windowBars: number
  /** How lively a stretch of time is; 1 on average, and where bars are too long to tell. */
  readonly season: (from: number, ms: number) => number
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

const RELEASED = new URL('../models/range-1.json', import.meta.url)
let released: RangeModel | undefined

/**
 * The model of ranges of this release, read once.
 *
 * @throws ServiceError `config_invalid` when the file cannot be read or is not a model
 */
export function releasedRanges(): RangeModel {
  released ??= rangeModelOf(readRanges())
  return released
}

/** @throws ServiceError `config_invalid` */
export function readRanges(file: string | URL = RELEASED): RangeModelData {
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
