import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { FEATURE_NAMES, FEATURES, type Feature, type FeatureName } from './features.ts'
import { type Provenance, provenanceSchema } from './provenance.ts'
import { measuredSchema } from './scoring/scores-schema.ts'

const finite = z.number()

const timeframeSkillSchema = z.discriminatedUnion('skill', [
  z.strictObject({
    skill: z.literal(true),
    /** Platt scaling: log-odds = slope × score + offset. */
    slope: finite.positive(),
    offset: finite,
    /** Of the recipe, walked forward: on bars it was not fitted on. */
    measured: measuredSchema,
  }),
  z.strictObject({
    skill: z.literal(false),
    /** Why this timeframe always answers HOLD; continues "HOLD because". */
    reason: z.string().min(1).max(250),
    measured: measuredSchema.optional(),
  }),
])

/** A verdict model as stored: a logistic model over named features, and its skill at every timeframe. */
export const verdictModelSchema = z.strictObject({
  version: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]*$/)
    .max(64),
  /** The data, the recipe and the label that the numbers come from. */
  provenance: provenanceSchema,
  intercept: finite,
  /** Standardised values are clipped to ± this, so that one wild bar cannot decide alone. */
  clip: finite.positive(),
  features: z
    .array(
      z.strictObject({
        name: z.enum(FEATURE_NAMES),
        mean: finite,
        scale: finite.positive(),
        coefficient: finite,
      }),
    )
    .min(1)
    .max(62),
  timeframes: z.record(z.enum(TIMEFRAMES), timeframeSkillSchema),
})

export type VerdictModelData = z.infer<typeof verdictModelSchema>
export type TimeframeSkill = VerdictModelData['timeframes'][Timeframe]

/** What computes verdicts; feature arrays run in the model's order. */
export interface ScoringModel {
  readonly intercept: number
  readonly clip: number
  readonly names: readonly FeatureName[]
  readonly features: readonly Feature[]
  readonly means: Float64Array
  /** One over the scale of each feature: multiplying is faster. */
  readonly inverseScales: Float64Array
  readonly coefficients: Float64Array
  readonly timeframes: Readonly<Record<Timeframe, TimeframeSkill>>
}

/** A model ready to be used. */
export interface VerdictModel extends ScoringModel {
  readonly version: string
  readonly provenance: Provenance
}

/**
 * Checks the shape of a model and binds its feature names to their functions.
 *
 * @throws ServiceError `config_invalid` when the data is not a model of this release
 */
export function createModel(data: unknown): VerdictModel {
  const parsed = verdictModelSchema.safeParse(data)
  if (!parsed.success) {
    throw new ServiceError('config_invalid', {
      message: `The verdict model cannot be used: ${z.prettifyError(parsed.error)}. Restore the model file that came with this release.`,
    })
  }
  const { version, provenance, intercept, clip, features, timeframes } = parsed.data
  const names = features.map((feature) => feature.name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) {
    throw new ServiceError('config_invalid', {
      message: `The verdict model names the feature ${repeated} twice; name each once.`,
    })
  }
  return {
    version,
    provenance,
    intercept,
    clip,
    names,
    features: names.map((name) => FEATURES[name]),
    means: Float64Array.from(features, (feature) => feature.mean),
    inverseScales: Float64Array.from(features, (feature) => 1 / feature.scale),
    coefficients: Float64Array.from(features, (feature) => feature.coefficient),
    timeframes,
  }
}

const RELEASED_MODEL = new URL('./models/barrier-2.json', import.meta.url)

/**
 * Reads a verdict model from a JSON file.
 *
 * @param file the model that came with this release, unless another is named
 * @throws ServiceError `config_invalid` when the file cannot be read or is not a model
 * @example loadModel().version === 'barrier-2'
 */
export function loadModel(file: string | URL = RELEASED_MODEL): VerdictModel {
  let data: unknown
  try {
    data = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new ServiceError('config_invalid', {
      message: `The verdict model at ${String(file)} cannot be read; restore the file that came with this release.`,
      cause,
    })
  }
  return createModel(data)
}
