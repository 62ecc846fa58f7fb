import { z } from 'zod'
import { exchangeSchema } from '../domain/series.ts'
import { marketKindSchema } from '../events/event-catalogue.ts'
import { sha256 as sha256Schema, textOrNull } from '../infra/field-schemas.ts'
import { positionSchema } from '../infra/position.ts'
import { nextSchema } from './parameters.ts'

/** Forms in which a sealed day is kept: the second one for readers without Parquet. */
export const SEALED_FILES = ['verdicts.parquet', 'verdicts.csv.gz'] as const
export type SealedFileName = (typeof SEALED_FILES)[number]

/** Schema of days that are sealed. One that another release sealed is served as it is, and not made again. */
export const SEALED_SCHEMA = 4

/** The content of a sealed day. Its SHA-256 is in an entry of the transparency log. */
export const sealedManifestSchema = z.object({
  schema_version: z.int().positive().describe('Raised when columns or their types change'),
  market: marketKindSchema,
  exchange: exchangeSchema,
  date: z.iso.date().describe('UTC day in which the bars closed'),
  rows: z.int().nonnegative(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  files: z.array(
    z.object({ name: z.enum(SEALED_FILES), bytes: z.int().nonnegative(), sha256: sha256Schema }),
  ),
  after: positionSchema.describe('Behind this position of the log stands the first event of the day'),
  up_to: positionSchema.describe('Position of the last one'),
  checkpoint: z
    .object({ origin: z.string(), size: z.int(), root: z.string() })
    .nullable()
    .describe('When the day was sealed'),
})
export type SealedManifest = z.infer<typeof sealedManifestSchema>

export const sealedDaysSchema = z.object({
  notice: z.string(),
  days: z
    .array(
      z.object({
        exchange: exchangeSchema,
        date: z.iso.date(),
        rows: z.int().nonnegative(),
        bytes: z.int().nonnegative(),
        manifest_sha256: sha256Schema.nullable().describe('null for a day without verdicts'),
        path: textOrNull,
      }),
    )
    .describe('By exchange and day'),
  next: nextSchema,
})
export type SealedDays = z.infer<typeof sealedDaysSchema>
