import { z } from 'zod'
import { coinSchema, exchangeSchema } from '../domain/series.ts'
import { TIMEFRAMES, timeframeSchema } from '../domain/timeframes.ts'
import { sha256 as sha256Schema } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { defineEvent } from './event-definition.ts'

/** A model file, by what nobody can change without changing it. */
export const modelFileSchema = z.object({
  modelVersion: z.string().min(1).max(64),
  /** Hash of the bytes of the file. */
  sha256: sha256Schema,
  bytes: z.int().positive(),
})
export type ModelFile = z.infer<typeof modelFileSchema>

export const ModelAnnounced = defineEvent('ModelAnnounced', 'model-{version}', {
  summary: 'The hash of a model file, recorded before its first verdict and again whenever the file changes.',
  data: modelFileSchema.extend({ role: z.literal('serving') }),
})

export const MonitoringChanged = defineEvent('MonitoringChanged', 'monitored-{exchange}', {
  summary: 'All series of an exchange that are followed from now on: each of their bars has a verdict.',
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

/** A verifier key as C2SP signed-note writes it: `name+id+base64`. */
export const vkeySchema = z.string().regex(/^[^+\s]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{1,2000}={0,2}$/)

/** A tree by its size and root, as its checkpoint names it. */
export const treeHeadSchema = z.object({
  origin: z.string().min(1).max(200),
  size: z.int().nonnegative(),
  /** Base64. */
  root: z.string().length(44),
})
export type NamedTreeHead = z.infer<typeof treeHeadSchema>

export const LogKeysPublished = defineEvent('LogKeysPublished', 'log-keys', {
  summary: 'The origin and all keys that sign checkpoints from now on, and the checkpoint that they leave.',
  data: z.object({
    origin: z.string().min(1).max(200),
    vkeys: z.array(vkeySchema).min(1).max(LIMITS.logKeys),
    reason: z.string().min(1).max(500),
    /** The newest checkpoint of the former origin; null where keys change, and for the first one. */
    leaves: treeHeadSchema.nullable(),
  }),
})

export const CheckpointSigned = defineEvent('CheckpointSigned', 'log-checkpoints', {
  summary: 'A checkpoint of the transparency log, signed: from now on the tree is this or longer.',
  data: treeHeadSchema.extend({
    /** Text and signatures. */
    note: z.string().max(LIMITS.noteCharacters),
    /** Unix milliseconds. */
    signedAt: z.int().nonnegative(),
  }),
})

export const DaySealed = defineEvent('DaySealed', 'sealed-{exchange}', {
  summary: "The manifest hash of the immutable files that hold an exchange's verdicts of one UTC day.",
  data: z.object({
    exchange: exchangeSchema,
    day: z.iso.date(),
    /** The content of the files, as text, and the hash of its bytes. */
    manifest: z.string().max(LIMITS.manifestCharacters),
    sha256: sha256Schema,
    rows: z.int().nonnegative(),
    bytes: z.int().nonnegative(),
  }),
})
