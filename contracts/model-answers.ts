import { z } from 'zod'
import { nextSchema } from './cursor.ts'
import { count } from './field-schemas.ts'
import { timeframeSchema } from './timeframes.ts'
import { trackRecordRowSchema } from './track-record-row.ts'

/** A model that runs here, and how it did at one timeframe. */
export const modelRowSchema = z.object({
  model_version: z.string(),
  role: z.enum(['champion', 'challenger']).describe('Whether its verdicts are served, or stand beside'),
  sha256: z.string().describe('Of its file'),
  timeframe: timeframeSchema.nullable().describe('null where nothing of it has an outcome yet'),
  speaks: z.boolean().nullable().describe('Whether calls are made there by its file'),
  record: trackRecordRowSchema
    .nullable()
    .describe('As in the track record; a challenger’s is of its own verdicts on the same races'),
  paired: z
    .object({
      races: count,
      brier: z.number(),
      brier_of_spoken: z.number().describe('Of the verdicts that were served on the same races'),
      unscored: count.describe('Late ones, and those of bars on which nothing was served'),
    })
    .nullable()
    .describe('A challenger beside the serving model; null for the champion'),
})

export type ModelRow = z.infer<typeof modelRowSchema>

export const modelsAnswerSchema = z.object({ models: z.array(modelRowSchema), next: nextSchema })

export const modelChoiceSchema = z.object({
  model_version: z.string(),
  sha256: z.string(),
  from: z.iso.datetime().describe('Its verdicts are served for bars that close from then on'),
})
