import { z } from 'zod'
import { LIMITS } from '../limits.ts'

/** The schema shown to clients. The tool refuses faulty requests with codes of its own (`INVALID_QUESTION`, …). */
export const chatKnowledgeRequest = z.strictObject({
  question: z
    .string()
    .min(LIMITS.questionCharactersLeast)
    .max(LIMITS.questionCharacters)
    .describe('One question about this service; earlier ones are not remembered'),
  model: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe(
      '`extractive`, or the model of this service where it has one; a wrong name is answered with the list',
    ),
})

export interface ChatRequest {
  /** Without blanks around it. */
  readonly question: string
  /** One of those there are. */
  readonly model: string
}
