import { z } from 'zod'
import { tierSchema } from '../domain/plans.ts'
import { CHANNELS } from '../events/quota-events.ts'
import { count, instant, textOrNull } from '../infra/field-schemas.ts'
import { nextSchema } from './parameters.ts'
import { quotaBlockSchema } from './service-block.ts'

/** A key as lists show it. */
export const keyRowSchema = z.object({
  key_id: z.uuid(),
  hint: z.string().describe('The first characters of the key'),
  label: z.string(),
  created_at: instant,
})
export type KeyAnswerRow = z.infer<typeof keyRowSchema>

const periodSchema = z.object({ tier: tierSchema, from: instant, to: instant })

export const accountAnswerSchema = z.object({
  account_id: z.uuid(),
  email: textOrNull.describe('Null for an account that the operator opened without one'),
  tier: tierSchema,
  opened_at: instant,
  plan: periodSchema.nullable().describe('The paid plan that runs; null on free'),
  next_plans: z.array(periodSchema).describe('Paid plans that begin later'),
  keys: z.array(keyRowSchema),
  quota: quotaBlockSchema.describe('Calls used and left, as of now'),
})
export type AccountAnswer = z.infer<typeof accountAnswerSchema>

/** The answer that shows a key, for the only time. */
export const issuedKeyAnswerSchema = keyRowSchema.omit({ created_at: true }).extend({
  key: z.string().describe('The API key. It is not shown again: only its hash is kept'),
  account_id: z.uuid(),
})

export const signInAnswerSchema = issuedKeyAnswerSchema.extend({ tier: tierSchema })
export type SignInAnswer = z.infer<typeof signInAnswerSchema>

/** The answer that tells the secret of a session, for the only time. */
export const begunSessionAnswerSchema = z.object({
  session: z.string().describe('The secret of the session, for the cookie of the pages; no API key'),
  account_id: z.uuid(),
})
export type BegunSessionAnswer = z.infer<typeof begunSessionAnswerSchema>

/** The answer of `POST /api/sign-in`, always the same but for its id. */
export const codeSentAnswerSchema = z.object({
  message: z.string(),
  sign_in_id: z.uuid().describe('Binds a code to this request, where it is given with it'),
  expires_in_s: z.int().positive().describe('How long a code is good for'),
})

export const keysAnswerSchema = z.object({ keys: z.array(keyRowSchema).describe('Oldest first') })

/** Counts of one page of accounts: what was issued before an instant, and has ended. */
export const endedAnswerSchema = z.object({ keys: count, programs: count, next: nextSchema })

export const accountsAnswerSchema = z.object({
  accounts: z.array(
    accountAnswerSchema
      .pick({ account_id: true, email: true, tier: true, opened_at: true })
      .extend({ keys: count }),
  ),
  next: z.uuid().nullable(),
})

export const usageAnswerSchema = z.object({
  tier: tierSchema,
  window: z
    .object({ id: z.string(), from: instant, to: instant })
    .describe('A calendar month, or the period of the plan'),
  quota: quotaBlockSchema.describe('Calls used and left, as of now'),
  days: z
    .array(z.object({ day: z.iso.date(), calls: count, tools: z.record(z.string(), count) }))
    .describe('The latest UTC days with calls, newest first; a moment behind'),
  debits: z
    .array(
      z.object({
        at: instant.describe('When it was counted'),
        window: z.string(),
        tool: z.string(),
        channel: z.enum(CHANNELS),
        key_id: z.uuid().nullable().describe('The key it came with'),
        request_hash: z.string().describe('SHA-256 of the tool and its request'),
        used: count.describe('Calls used in its window, this one included'),
      }),
    )
    .describe('Counted calls of the window, newest first'),
  next: textOrNull.describe('Give it as `after` for those before; null at the end'),
})
export type UsageAnswer = z.infer<typeof usageAnswerSchema>
