import { z } from 'zod'
import { regimeShiftsAnswerSchema } from '../answers/history.ts'
import { chatAnswerSchema, searchAnswerSchema } from '../answers/knowledge.ts'
import { coinParameter, exchangeParameter, pageCursor, timeframeParameter } from '../answers/parameters.ts'
import { LIMITS } from '../limits.ts'
import type { ToolDefinition } from './tool-catalogue.ts'

/** The schema shown to clients. The tool refuses faulty requests with codes of its own (`INVALID_QUERY`, …). */
export const searchKnowledgeRequest = z.strictObject({
  query: z
    .string()
    .min(LIMITS.searchCharactersLeast)
    .max(LIMITS.searchCharacters)
    .describe('What to look for in the documentation, in plain words'),
  limit: z.int().min(1).max(LIMITS.searchRows).default(10).describe('Sections at most'),
})

/** Without blanks around the query. */
export type SearchRequest = z.output<typeof searchKnowledgeRequest>

/** The schema shown to clients. The tool refuses faulty requests with codes of its own (`INVALID_QUESTION`, …). */
export const chatKnowledgeRequest = z.strictObject({
  question: z
    .string()
    .min(LIMITS.questionCharactersLeast)
    .max(LIMITS.questionCharacters)
    .describe('One question about this service; earlier ones are not remembered'),
  model: z.string().min(1).max(100).optional().describe('`extractive`, or the model of this service'),
})

/** Without blanks around the question, and with a model that there is. */
export type ChatRequest = Readonly<Record<'question' | 'model', string>>

/**
 * The tools about the service itself. They are apart from the others because they are not sold call by call,
 * cost none of a plan's calls, and say nothing about a market.
 */
export const KNOWLEDGE_TOOLS = {
  search_knowledge: {
    title: 'Search of the documentation',
    description:
      'Finds the sections of the docs of this service that match a query: tools and their fields, prices, quotas, rate limits, webhook signatures, error codes, settings. Needs an API key; costs no calls.',
    request: searchKnowledgeRequest,
    response: searchAnswerSchema,
  },
  chat_knowledge: {
    title: 'Question about the service',
    description:
      'Answers one question about this service: explains how it works, what it charges, how payments by x402 work. From its documentation, with the sections it is taken from, or says that the documentation does not say. Needs an API key; costs no calls, but has a limit of its own.',
    request: chatKnowledgeRequest,
    response: chatAnswerSchema,
  },
} as const satisfies Record<string, ToolDefinition>

/** Rows of one answer: what a model can read, fewer than over HTTP. */
const ROWS = 100

export const regimeShiftsRequest = z.strictObject({
  exchange: exchangeParameter.optional().describe('Exchange code; left out, the first monitored'),
  coin: coinParameter,
  timeframe: timeframeParameter.default('4h'),
  limit: z.int().min(1).max(ROWS).default(20).describe('Shifts at most'),
  after: pageCursor(/^\d{1,15}$/, 'Older shifts').optional(),
})

/** The tools that read what was recorded. They are open and free, as the same is over HTTP, and need no key. */
export const HISTORY_TOOLS = {
  get_regime_shifts: {
    title: 'History of regimes',
    description:
      'The past: when the regime of a coin last changed, flipping between trending, ranging and volatile. Regime shifts at a timeframe on an exchange, newest first, each with its verdict, once the window of that verdict has closed. Free, without a key. A description of what has been; information, not advice.',
    request: regimeShiftsRequest,
    response: regimeShiftsAnswerSchema,
  },
} as const satisfies Record<string, ToolDefinition>
