import { chatAnswerSchema, searchAnswerSchema } from '../knowledge-answers.ts'
import { chatKnowledgeRequest } from './chat-knowledge.ts'
import { searchKnowledgeRequest } from './search-knowledge.ts'
import type { ToolDefinition } from './tool-catalogue.ts'

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
