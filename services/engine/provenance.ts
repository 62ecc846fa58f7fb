import { z } from 'zod'
import { timeMs } from '../../contracts/field-schemas.ts'
import { seriesSchema } from '../../contracts/series.ts'
import { timeframeSchema } from '../../contracts/timeframes.ts'

const share = z.number().gt(0).lt(1)
const days = z.int().positive()

/** How a model is fitted: everything that is neither data nor code. */
export const recipeSchema = z.strictObject({
  /** The timeframes whose races give the coefficients of each. */
  sources: z.record(timeframeSchema, z.array(timeframeSchema).min(1)),
  /** Scaled values are clipped to ± this, so that one wild bar cannot decide alone. */
  clip: z.number().positive(),
  /** Ridge penalty on the coefficients, per decided race. */
  ridgePerRace: z.number().nonnegative(),
  /** Races that coefficients are fitted on at most; of more, every so many-th. */
  mostRaces: z.int().positive(),
  /** The first forecast comes after this share of a timeframe's history, or after so many days of it. */
  firstTrainingShare: share,
  firstTrainingDays: days,
  /** The model is fitted again this often, and at least so many times in a history. */
  refitDays: days,
  fewestRefits: z.int().positive(),
  /** Forecasts of decided races that a calibration needs; until then the slope is the first one. */
  fewestRaces: z.int().positive(),
  firstSlope: z.number().positive(),
  steepestSlope: z.number().positive(),
  /** Timeframes whose forecasts have an offset, and the newest days that it is of; former recipes have none. */
  offsets: z.array(timeframeSchema).optional(),
  habitDays: days.optional(),
  /** Timeframes at which the forecasts of each coin have a slope of their own; former recipes have none. */
  coinSlopes: z.array(timeframeSchema).optional(),
  /** Features and recipe were chosen on bars before this instant, Unix milliseconds; later ones chose nothing. */
  chosenUntil: timeMs.optional(),
})

export type Recipe = z.infer<typeof recipeSchema>

/** One recording that a model was fitted and calibrated on, with its own bars; longer ones were made of them. */
export const usedSeriesSchema = z.strictObject({
  ...seriesSchema.shape,
  /** Spot prices stand in where a perpetual contract was not recorded. */
  market: z.enum(['perpetual', 'spot']),
  /** Open of the first and close of the last bar, Unix milliseconds. */
  from: timeMs,
  to: timeMs,
  bars: z.int().positive(),
  fundingRates: z.int().nonnegative(),
  /** Checksum of the content, by `historyChecksum`. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})

export type UsedSeries = z.infer<typeof usedSeriesSchema>

/** The origin of a model's numbers. */
export const provenanceSchema = z.strictObject({
  recipe: recipeSchema,
  /** Definition of the races of its label. */
  label: z.strictObject({
    /** One barrier on either side, so many deviations of the move to be expected within the window away. */
    deviations: z.number().positive(),
    /** Log returns that the deviation is taken of. */
    deviationBars: z.int().positive(),
    /** The nearest a barrier may be, as a fraction of the entry price. */
    floor: z.number().positive(),
  }),
  /** Open of the first and close of the last bar of all series. */
  from: timeMs,
  to: timeMs,
  series: z.array(usedSeriesSchema).min(1),
  /** The model whose offsets and hours of the day were estimated again, and the last bar that they are of. */
  refreshed: z.strictObject({ model: z.string().max(64), until: timeMs }).optional(),
})

export type Provenance = z.infer<typeof provenanceSchema>
