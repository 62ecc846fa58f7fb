import { z } from 'zod'
import type { Tier } from '../domain/plans.ts'
import { count, textOrNull } from '../infra/field-schemas.ts'

/** Chats in one window of the plan: the calendar month on free, the plan's own 30 days on a paid one. */
export const CHATS_PER_WINDOW: Readonly<Record<Tier, number>> = { free: 10, starter: 50, pro: 200 }

/** The model that puts answers together from sentences of the documentation. It is always there. */
export const EXTRACTIVE_MODEL = 'extractive'

const passageFields = {
  id: z.string().describe('Page and section, as in quotas#how-many-calls-are-there'),
  title: z.string().describe('The page and the heading of the section'),
  url: z.string().describe('Where the section can be read'),
  excerpt: z.string().describe('The part of the section that fits best, as plain text'),
}

/** The answer of `POST /api/search`. It says nothing about the caller, because it may be kept by caches. */
export const searchAnswerSchema = z.object({
  query: z.string().describe('What was searched for, without blanks around it'),
  total: z.int().nonnegative().describe('Sections that match, of which the best are in `results`'),
  results: z
    .array(z.object({ ...passageFields, score: z.number().describe('Higher is better') }))
    .describe('Sections of the documentation, the best first'),
})
export type SearchAnswer = z.infer<typeof searchAnswerSchema>

export const citationSchema = z.object(passageFields)
export type Citation = z.infer<typeof citationSchema>

export const chatQuotaSchema = z.object({
  remaining: count.describe('Chats left in the window'),
  limit: count.describe('Chats in the window'),
  used: count.describe('Chats used in the window'),
  resets_at: z.iso.datetime().describe('When the window ends'),
})
export type ChatQuota = z.infer<typeof chatQuotaSchema>

export const chatAnswerSchema = z.object({
  question: z.string().describe('The question, without blanks around it'),
  answer: z.string().describe('Plain text; `[1]` refers to the first citation'),
  citations: z.array(citationSchema).describe('The sections that the answer is taken from'),
  model: z.string().describe('The model that answered; `extractive` steps in where another could not'),
  note: textOrNull.describe('Why another model than the one asked for answered; else null'),
  quota: chatQuotaSchema,
})
export type ChatAnswer = z.infer<typeof chatAnswerSchema>
