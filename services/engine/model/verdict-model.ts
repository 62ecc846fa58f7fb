import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { ModelFile } from '../../../contracts/events/proof-events.ts'
import { type RangeModel, rangeModelOf } from './range-forecast.ts'
import { BUY_ENTRY, BUY_EXIT } from './thresholds.ts'

const positive = z.number().positive()
const hours = z.array(positive).length(24)

/** Weight of a factor on the log-odds, per unit of its value. */
const factorSchema = z.strictObject({ weight: z.number(), unit: positive })

/** How wide the ranges of a timeframe are, in expected moves. */
const widthsSchema = z.strictObject({
  /** Bounds of the return, up and down, in half and in four fifths of all windows. */
  inner: positive,
  outer: positive,
  /** Standard deviation of the return. */
  deviation: positive,
})

/** A timeframe at which calls are made, with their record on windows that no weight was fitted on. */
const callingSchema = widthsSchema.extend({
  calls: z.literal(true),
  /** AUC of the decided outcomes; stands for the days before a log has outcomes of its own. */
  auc: z.number().min(0).max(1),
  /** Won of 100 decided calls; and of as many BUY and SELL dealt at random to the same instants. */
  won: z.number().min(0).max(100),
  randomSides: z.number().min(0).max(100),
  /** Whether the newest half year shows the skill by itself. */
  confirmed: z.boolean(),
})

const silentSchema = widthsSchema.extend({
  calls: z.literal(false),
  /** Continues "HOLD, because". */
  reason: z.string().min(1).max(250),
})

const timeframeSchema = z.discriminatedUnion('calls', [callingSchema, silentSchema])

/** A verdict model as stored. */
const verdictModelSchema = z.strictObject({
  version: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]*$/)
    .max(64),
  direction: z.strictObject({
    /** Values in units are clipped to ± this, so that one wild bar cannot decide alone. */
    clip: positive,
    factors: z.strictObject({ price_to_ema50: factorSchema, wick_balance: factorSchema }),
    /** Probability of the likelier barrier at which a call begins, and at which it ends. */
    entry: z.literal(BUY_ENTRY),
    exit: z.literal(BUY_EXIT),
  }),
  ranges: z.strictObject({
    /** Weights of the logarithms of the averages, on the log variance. */
    weights: z.strictObject({ v2: z.number(), v8: z.number(), m200: z.number() }),
    /** Variance by hour, UTC; about 1 over a week. */
    hours: z.strictObject({ weekday: hours, weekend: hours }),
  }),
  timeframes: z.record(z.enum(TIMEFRAMES), timeframeSchema),
})

export type VerdictModelData = z.infer<typeof verdictModelSchema>
export type TimeframeSkill = VerdictModelData['timeframes'][Timeframe]

/** A model ready to be used. */
export interface VerdictModel extends Pick<VerdictModelData, 'version' | 'direction' | 'timeframes'> {
  readonly ranges: RangeModel
}

/** @throws ServiceError `config_invalid` if the data is not a model of this release */
export function createModel(data: unknown): VerdictModel {
  const parsed = verdictModelSchema.safeParse(data)
  if (!parsed.success)
    throw new ServiceError('config_invalid', {
      message: `The verdict model cannot be used: ${z.prettifyError(parsed.error)}. Restore the model file that came with this release.`,
    })
  const { version, direction, timeframes } = parsed.data
  return { version, direction, timeframes, ranges: rangeModelOf(parsed.data) }
}

const MODEL_FILE = new URL('./barrier-6.json', import.meta.url)

/**
 * Reads the verdict model that came with this release.
 *
 * @throws ServiceError `config_invalid` if the file cannot be read or is not a model
 */
export function loadModel(): VerdictModel {
  try {
    return createModel(JSON.parse(readFileSync(MODEL_FILE, 'utf8')))
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('config_invalid', {
      message: `The verdict model ${MODEL_FILE.pathname} cannot be read; restore the file that came with this release.`,
      cause,
    })
  }
}

/** The identity of the model file: version, checksum and size. @throws ServiceError as {@link loadModel} */
export function modelFile(): ModelFile {
  const { version } = loadModel()
  const bytes = readFileSync(MODEL_FILE)
  return {
    modelVersion: version,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.length,
  }
}
