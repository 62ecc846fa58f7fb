import { z } from 'zod'
import { defineEvent } from './event-definition.ts'
import { exchangeSchema } from './exchanges.ts'
import { LIMITS } from './limits.ts'
import { coinSchema } from './series.ts'
import { TIMEFRAMES, timeframeSchema } from './timeframes.ts'

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

/** What a model is used for: its verdicts are served, or stand beside those that are. */
export const MODEL_ROLES = ['serving', 'challenger'] as const
export type ModelRole = (typeof MODEL_ROLES)[number]

/** A model file, by what nobody can change without changing it. */
export const modelFileSchema = z.object({
  modelVersion: z.string().min(1).max(64),
  /** Of the bytes of the file. */
  sha256: sha256Schema,
  bytes: z.int().positive(),
})

export type ModelFile = z.infer<typeof modelFileSchema>

export const ModelAnnounced = defineEvent({
  type: 'ModelAnnounced',
  stream: 'model-{version}',
  summary:
    'A model file, by its hash, before the first verdict that is computed with it; again where the file of a version or its role has changed.',
  data: modelFileSchema.extend({ role: z.enum(MODEL_ROLES) }),
})

export const MonitoringChanged = defineEvent({
  type: 'MonitoringChanged',
  stream: 'monitored-{exchange}',
  summary:
    'The series of an exchange that are followed from now on, all of them: each closed bar of them has a verdict, or an entry that says why not.',
  data: z.object({
    exchange: exchangeSchema,
    /** Market time, Unix milliseconds. */
    since: z.int().nonnegative(),
    monitored: z
      .array(
        z.object({ coin: coinSchema, timeframes: z.array(timeframeSchema).min(1).max(TIMEFRAMES.length) }),
      )
      .max(LIMITS.universeCoins),
  }),
})
