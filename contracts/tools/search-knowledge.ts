import { z } from 'zod'
import { LIMITS } from '../limits.ts'

/** The schema shown to clients. The tool refuses faulty requests with codes of its own (`INVALID_QUERY`, …). */
export const searchKnowledgeRequest = z.strictObject({
  query: z
    .string()
    .min(LIMITS.searchCharactersLeast)
    .max(LIMITS.searchCharacters)
    .describe('What to look for in the documentation, in plain words'),
  limit: z.int().min(1).max(LIMITS.searchRows).default(10).describe('Sections at most'),
})

export interface SearchRequest {
  /** Without blanks around it. */
  readonly query: string
  readonly limit: number
}
