import { z } from 'zod'
import { marketKindSchema } from '../events/event-catalogue.ts'
import { textOrNull } from '../infra/field-schemas.ts'
import { recordedAsSchema } from './recorded-as.ts'
import { verdictRowSchema } from './verdict-row.ts'

/** An event as it stands in the log, without how it came about. */
export const proofEventSchema = z.object({
  id: z.uuid(),
  type: z.string(),
  schema: z.int().positive(),
  stream: z.string(),
  revision: z.int().nonnegative(),
  position: z.string(),
  at: z.iso.datetime(),
  data: z.record(z.string(), z.json()),
})

const hashSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256 over {data, id, schema, type} as JSON without spaces, the keys of all objects sorted')

/** The log's record of one verdict. */
export const verificationSchema = z.object({
  verdict_id: z.uuid(),
  event: proofEventSchema.describe('The verdict as it was recorded'),
  hash: hashSchema,
  window_closes_at: z.iso.datetime(),
  recorded_as: recordedAsSchema,
  recorded_note: textOrNull.describe('Why it was recorded late, and by how much; null if it was live'),
  outcome: z
    .object({ event: proofEventSchema, hash: hashSchema })
    .nullable()
    .describe('Null until its window has closed'),
  notice: z.string(),
})

export const verificationAnswerSchema = verificationSchema.extend({
  market: marketKindSchema,
  verdict: verdictRowSchema.omit({ cursor: true }).describe('As in other answers; `event` is what is hashed'),
})
export type VerificationAnswer = z.infer<typeof verificationAnswerSchema>
export type ProofEvent = z.infer<typeof proofEventSchema>
export type Verification = z.infer<typeof verificationSchema>
