import { z } from 'zod'
import { defineEvent } from './event-definition.ts'
import { sha256 } from './field-schemas.ts'
import { LIMITS } from './limits.ts'
import { quotaWindowSchema } from './plans.ts'
import { CHANNELS, payerIdSchema } from './quota-events.ts'

const model = z.string().min(1).max(100)
const stream = 'chat-{account}.{window}'

/** Fields of both events of a chat. The question is not kept; its hash identifies a repeated one. */
const chat = {
  payerId: payerIdSchema,
  window: quotaWindowSchema,
  keyId: z.uuid(),
  /** Hash of the question and the model, in canonical form. */
  requestHash: sha256,
  /** Hash of the caller's Idempotency-Key. */
  idempotencyHash: sha256.nullable(),
}

export const ChatReserved = defineEvent({
  type: 'ChatReserved',
  stream,
  summary:
    'One chat of a window was set aside before a model that costs money was asked. It ends with its ChatAnswered, or at `until` by itself.',
  data: z.object({
    ...chat,
    model,
    /** Unix milliseconds. */
    until: z.int().nonnegative(),
  }),
})

export const ChatAnswered = defineEvent({
  type: 'ChatAnswered',
  stream,
  summary:
    'A question was answered from the documentation and counted, in one: the event holds the answer, so neither can be without the other.',
  data: z.object({
    ...chat,
    channel: z.enum(CHANNELS),
    /** The model that answered, which is not always the one that was asked for. */
    model,
    /** The ChatReserved that this ends; null where the model costs nothing. */
    reservationId: z.uuid().nullable(),
    /** The answer and its citations as they were given, JSON text. */
    answer: z.string().max(LIMITS.chatAnswerBytes),
    /** Chats used in the window after this one. */
    used: z.int().positive(),
  }),
})
