import { z } from 'zod'
import { quotaWindowSchema } from '../domain/plans.ts'
import { sha256 } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { defineEvent } from './event-definition.ts'

/** Id of an account, or of an anonymous caller: the keyed hash of an address. */
const payerIdSchema = z.string().regex(/^[A-Za-z0-9-]{1,64}$/)
const stream = 'quota-{account}.{window}'

export const CHANNELS = ['http', 'mcp', 'operator'] as const
export type Channel = (typeof CHANNELS)[number]

export const QuotaDebited = defineEvent('QuotaDebited', stream, {
  summary: 'A tool call was answered and counted in one event, which holds the answer.',
  data: z.object({
    payerId: payerIdSchema,
    window: quotaWindowSchema,
    /** UTC day, `2026-11-21`. */
    day: z.iso.date(),
    tool: z.string().min(1).max(64),
    channel: z.enum(CHANNELS),
    keyId: z.uuid().nullable(),
    /** Hash of the tool and its request in canonical form. */
    requestHash: sha256,
    /** Hash of the caller's Idempotency-Key. */
    idempotencyHash: sha256.nullable(),
    /** The answer as it was given, JSON text without the metadata of the channel. */
    answer: z.string().max(262_144),
    /** Calls used after this one, in the window and in the day. */
    used: z.int().positive(),
    usedToday: z.int().positive(),
  }),
})

export const ChatAnswered = defineEvent('ChatAnswered', 'chat-{account}.{window}', {
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
