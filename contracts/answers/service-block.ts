import { z } from 'zod'
import { tierSchema } from '../domain/plans.ts'
import { marketKindSchema } from '../events/event-catalogue.ts'
import { count, instant, textOrNull } from '../infra/field-schemas.ts'

/**
 * The result of checking a caller's key: it applied; none was sent; the text sent is not a key, and the caller is
 * served as anonymous; it looks like a key and is none; or it could not be checked.
 */
export const AUTH_OUTCOMES = ['OK', 'ABSENT', 'MALFORMED', 'UNKNOWN', 'INDETERMINATE'] as const

/** Calls left to a caller. */
export const quotaBlockSchema = z.object({
  remaining: count.describe('Calls left: the lesser of what the window and the day leave'),
  limit: count.describe('Calls in the window'),
  used: count.describe('Calls used in the window'),
  resets_at: instant.describe('When the window ends'),
  daily: z
    .object({ remaining: count, limit: count, used: count, resets_at: instant })
    .nullable()
    .describe('Of the UTC day; null without a limit'),
})
export type QuotaBlock = z.infer<typeof quotaBlockSchema>

/** The state of a payment, for the payer. */
export const PAYMENT_STATES = [
  'owed',
  'settling',
  'broadcast',
  'unknown',
  'confirmed',
  'final',
  'uncollectable',
  'refunded',
] as const
export type PaymentState = (typeof PAYMENT_STATES)[number]

export const paymentBlockSchema = z.object({
  id: z.uuid(),
  state: z.enum(PAYMENT_STATES).describe('As of this answer; `status_url` tells it from then on'),
  amount_usdc: z.string().describe('Decimal, as in 0.02'),
  transaction: textOrNull.describe('Hash of the transaction, once it is known'),
  status_url: z.url(),
  secret: z.string().describe('Sent as `Payment-Secret` with the same payment, it opens this answer again'),
})
export type PaymentBlock = z.infer<typeof paymentBlockSchema>

/** `_service`: what every tool answer says of itself and of the caller. */
export const serviceBlockSchema = z.object({
  version: z.string(),
  tool: z.string(),
  request_id: z.string(),
  market: marketKindSchema,
  auth: z.object({
    outcome: z.enum(AUTH_OUTCOMES),
    tier: tierSchema.describe('The tier applied; free for anonymous callers'),
    note: z.string().exactOptional().describe('How to send a key, where what came is none'),
  }),
  quota: quotaBlockSchema.nullable(),
  payment: paymentBlockSchema.exactOptional().describe('Where the answer was paid for by itself'),
  notice: z.string().describe('Information, not advice; where the documentation is'),
})
export type ServiceBlock = z.infer<typeof serviceBlockSchema>
