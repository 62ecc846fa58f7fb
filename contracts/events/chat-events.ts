import { z } from 'zod'
import { quotaWindowSchema } from '../domain/plans.ts'
import { sha256 } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { defineEvent } from './event-definition.ts'
import { CHANNELS, payerIdSchema } from './quota-events.ts'

export const ChatAnswered = defineEvent({
  type: 'ChatAnswered',
  stream: 'chat-{account}.{window}',
  summary: 'A question was answered and counted in one event, which holds the answer.',
  data: z.object({
    payerId: payerIdSchema,
    window: quotaWindowSchema,
    keyId: z.uuid(),
    /** Hash of the question and the model, in canonical form; the question is not stored. */
    requestHash: sha256,
    /** Hash of the caller's Idempotency-Key. */
    idempotencyHash: sha256.nullable(),
    channel: z.enum(CHANNELS),
    /** The model that answered, which is not always the requested one. */
    model: z.string().min(1).max(100),
    /** The answer and its citations as they were given, JSON text. */
    answer: z.string().max(LIMITS.chatAnswerBytes),
    /** Chats used in the window after this one. */
    used: z.int().positive(),
  }),
})
