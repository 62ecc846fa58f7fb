import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import type { ModelFile } from '../../contracts/proof-events.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { FIRST_REGIME_RULE, type RegimeRule, regimeRuleSchema } from './call-trigger.ts'
import { FEATURE_NAMES, FEATURES, type Feature, type FeatureName } from './features.ts'
import { FIRST_RANGES, HOURS_TOLD, type RangeModel, rangesOf } from './forecast/range-model.ts'
import { type Gate, gateSchema, silencesOf } from './gate.ts'
import { type Provenance, provenanceSchema } from './provenance.ts'
import { measuredSchema } from './scoring/scores-schema.ts'

const finite = z.number()

const skilledSchema = z.strictObject({
  skill: z.literal(true),
  /** One unit of each feature, and what a unit weighs, in the model's order. */
  scales: z.array(finite.positive()).min(1).max(62),
  coefficients: z.array(finite).min(1).max(62),
  /** Decided races that the coefficients were fitted on. */
  races: z.int().nonnegative(),
  /** Platt scaling: log-odds = slope × score + offset. */
  slope: finite.positive(),
  offset: finite,
  /** Further factors on the score, by coin; 1 for a coin without one. */
  coinSlopes: z.record(z.string().max(32), finite.nonnegative()).optional(),
  /** Scores of the recipe walked forward: on bars it was not fitted on. */
  measured: measuredSchema,
})

const silentSchema = z.strictObject({
  skill: z.literal(false),
  /** Why this timeframe always answers HOLD; continues "HOLD because". */
  reason: z.string().min(1).max(250),
  measured: measuredSchema.optional(),
})

/**
 * The second forecast of a timeframe, made of the same features: whether the window closes above the entry. It was
 * fitted and scored as a race that the side of the close wins. Former models have none.
 */
const closesSchema = z.discriminatedUnion('skill', [skilledSchema, silentSchema]).optional()

const timeframeSkillSchema = z.discriminatedUnion('skill', [
  skilledSchema.extend({ closes: closesSchema }),
  silentSchema.extend({ closes: closesSchema }),
])

/** Model files of other schemas are of other releases. */
const SCHEMA = 2

/** A verdict model as stored: logistic models over named features, one for every timeframe that has skill. */
export const verdictModelSchema = z.strictObject({
  schema: z.literal(SCHEMA),
  version: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]*$/)
    .max(64),
  /** The data, the recipe and the label that the numbers come from. */
  provenance: provenanceSchema,
  /** Scaled values are clipped to ± this, so that one wild bar cannot decide alone. */
  clip: finite.positive(),
  features: z.array(z.enum(FEATURE_NAMES)).min(1).max(62),
  timeframes: z.record(z.enum(TIMEFRAMES), timeframeSkillSchema),
  /** Scores of coins, and those that are silent; former models have none. */
  gate: gateSchema.optional(),
  /** Version of the ranges that its verdicts state; former models, which name none, have the first ones. */
  ranges: z.string().min(1).max(64).optional(),
  /** Hours of the day as newer years know them, by timeframe: factors on the move that the ranges expect. */
  hours: z.partialRecord(z.enum(TIMEFRAMES), z.array(finite.positive()).length(HOURS_TOLD)).optional(),
  /** How its verdicts tell the regime; former models, which name none, have the first rule. */
  regime: regimeRuleSchema.optional(),
})

export type VerdictModelData = z.infer<typeof verdictModelSchema>
export type TimeframeSkill = VerdictModelData['timeframes'][Timeframe]
export type Skill = z.infer<typeof skilledSchema | typeof silentSchema>

/** The part of a model that computes verdicts. */
export interface ScoringModel {
  readonly clip: number
  readonly names: readonly FeatureName[]
  /** In the order of the names. */
  readonly features: readonly Feature[]
  /** One over the unit of each feature, for one timeframe after the other: multiplying is faster. */
  readonly inverseScales: Float64Array
  /** Slope × coefficient, likewise; 0 where the timeframe is silent. */
  readonly weights: Float64Array
  /** Whether calls are made, by timeframe. */
  readonly speaks: readonly boolean[]
  readonly timeframes: Readonly<Record<Timeframe, TimeframeSkill>>
  readonly ranges: RangeModel
  readonly regime: RegimeRule
}

/** A model ready to be used. */
export interface VerdictModel extends ScoringModel {
  readonly version: string
  readonly provenance: Provenance
  readonly gate: Gate
  /** Why the calls of a coin are HOLD at a timeframe where others are made, by {@link silenceKey}. */
  readonly silentCoins: ReadonlyMap<string, string>
}

/** @throws ServiceError `config_invalid` when the data is not a model of this release */
export function modelDataOf(data: unknown): VerdictModelData {
  const parsed = verdictModelSchema.safeParse(data)
  if (!parsed.success) throw unusableModelError(data, parsed.error)
  return parsed.data
}

/**
 * Checks the shape of a model and binds its feature names to their functions.
 *
 * @throws ServiceError `config_invalid` when the data is not a model of this release
 */
export function createModel(data: unknown): VerdictModel {
  const { version, provenance, clip, features, timeframes, gate = {}, ...bound } = modelDataOf(data)
  const repeated = features.find((name, index) => features.indexOf(name) !== index)
  if (repeated !== undefined) {
    throw new ServiceError('config_invalid', {
      message: `The verdict model names the feature ${repeated} twice; name each once.`,
    })
  }
  for (const timeframe of TIMEFRAMES) {
    const { closes, ...skill } = timeframes[timeframe]
    const isWhole = (one: Skill | undefined): boolean =>
      !one?.skill || (one.scales.length === features.length && one.coefficients.length === features.length)
    if (isWhole(skill) && isWhole(closes)) continue
    throw new ServiceError('config_invalid', {
      message: `The verdict model names ${features.length} features and has another number of scales or coefficients at ${timeframe}; give each feature one of both.`,
    })
  }
  const silentCoins = silencesOf(gate)
  return { version, provenance, gate, silentCoins, ...scoringOf(features, clip, timeframes, bound) }
}

/**
 * Lays out the numbers of a model for those that compute with it.
 *
 * @throws ServiceError `config_invalid` for ranges that did not come with this release
 */
export function scoringOf(
  names: readonly FeatureName[],
  clip: number,
  timeframes: VerdictModelData['timeframes'],
  {
    ranges = FIRST_RANGES,
    hours = {},
    regime = FIRST_REGIME_RULE,
  }: Pick<VerdictModelData, 'ranges' | 'hours' | 'regime'> = {},
): ScoringModel {
  const skills = TIMEFRAMES.map((timeframe) => timeframes[timeframe])
  const table = (
    of: (skill: TimeframeSkill & { readonly skill: true }, index: number) => number,
  ): Float64Array =>
    Float64Array.from(
      skills.flatMap((skill) => names.map((_, index) => (skill.skill ? of(skill, index) : 0))),
    )
  return {
    clip,
    names,
    features: names.map((name) => FEATURES[name]),
    inverseScales: table(({ scales }, index) => 1 / (scales[index] ?? 1)),
    weights: table(({ slope, coefficients }, index) => slope * (coefficients[index] ?? 0)),
    speaks: skills.map(({ skill }) => skill),
    timeframes,
    ranges: rangesOf(ranges).map((range, index) => ({ ...range, hours: hours[TIMEFRAMES[index] ?? '1m'] })),
    regime,
  }
}

/** Factor on the score of a coin. */
export const coinSlopeOf = (skill: Skill, coin: string): number =>
  (skill.skill ? skill.coinSlopes?.[coin] : undefined) ?? 1

function unusableModelError(data: unknown, error: z.ZodError): ServiceError {
  const isOther =
    typeof data === 'object' &&
    data !== null &&
    'version' in data &&
    !('schema' in data && data.schema === SCHEMA)
  const reason = isOther
    ? `it is of another schema than ${SCHEMA}, so of another release; fit it again`
    : `${z.prettifyError(error)}. Restore the model file that came with this release`
  return new ServiceError('config_invalid', { message: `The verdict model cannot be used: ${reason}.` })
}

/** The model of this release, and former ones whose verdicts can still be computed again. */
export const KEPT_MODELS: readonly string[] = ['barrier-5', 'barrier-4', 'barrier-3']

/** The file of a model that came with this release; undefined for others. */
export const keptModelFile = (version: string): URL | undefined =>
  KEPT_MODELS.includes(version) ? new URL(`./models/${version}.json`, import.meta.url) : undefined

const RELEASED_MODEL = new URL('./models/barrier-5.json', import.meta.url)

/**
 * Reads a verdict model from a JSON file.
 *
 * @param file the model that came with this release, unless another is named
 * @throws ServiceError `config_invalid` when the file cannot be read or is not a model
 */
export function loadModel(file: string | URL = RELEASED_MODEL): VerdictModel {
  let data: unknown
  try {
    data = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new ServiceError('config_invalid', {
      message: `The verdict model at ${String(file)} cannot be read; ${file === RELEASED_MODEL ? 'restore the file that came with this release' : 'name a file that holds one'}.`,
      cause,
    })
  }
  return createModel(data)
}

/**
 * The identity of a model file: version, checksum and size.
 *
 * @throws ServiceError as {@link loadModel}
 */
export function modelFile(file: string | URL = RELEASED_MODEL): ModelFile {
  const { version } = loadModel(file)
  const bytes = readFileSync(file)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { modelVersion: version, sha256, bytes: bytes.length }
}
