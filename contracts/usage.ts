import { z } from 'zod'
import { count, instant } from './field-schemas.ts'
import { tierSchema } from './plans.ts'
import { CHANNELS } from './quota-events.ts'
import { quotaBlockSchema } from './service-block.ts'

/** The answer of `GET /api/usage`. */
export const usageAnswerSchema = z.object({
  tier: tierSchema,
  window: z
    .object({ id: z.string(), from: instant, to: instant })
    .describe('What calls are counted over: a calendar month, or the period of the plan'),
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
  next: z.string().nullable().describe('Give it as `after` for those before; null at the end'),
})

export type UsageAnswer = z.infer<typeof usageAnswerSchema>
