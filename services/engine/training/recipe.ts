import { z } from 'zod'
import { timeframeSchema } from '../../../contracts/timeframes.ts'

const share = z.number().gt(0).lt(1)
const days = z.int().positive()

/** How a model is fitted: everything that is neither data nor code. */
export const recipeSchema = z.strictObject({
  /** Bars of this timeframe give the coefficients; every timeframe gives its own calibration. */
  fitTimeframe: timeframeSchema,
  /** Scaled values are clipped to ± this, so that one wild bar cannot decide alone. */
  clip: z.number().positive(),
  /** Ridge penalty on the coefficients, per decided race. */
  ridgePerRace: z.number().nonnegative(),
  /** The first forecast comes after this share of a timeframe's history, or after so many days of it. */
  firstTrainingShare: share,
  firstTrainingDays: days,
  /** The model is fitted again this often, and at least so many times in a history. */
  refitDays: days,
  fewestRefits: z.int().positive(),
  /** The newest share of a training window calibrates, the older part gives the coefficients. */
  calibrationShare: share,
  /** Decided races that a calibration needs. */
  fewestRaces: z.int().positive(),
})

export type Recipe = z.infer<typeof recipeSchema>

/** The recipe of this release; docs/decisions tell how it was chosen. */
export const RECIPE: Recipe = {
  fitTimeframe: '1h',
  clip: 3,
  ridgePerRace: 0.06,
  firstTrainingShare: 0.4,
  firstTrainingDays: 570,
  refitDays: 91,
  fewestRefits: 8,
  calibrationShare: 0.25,
  fewestRaces: 200,
}
