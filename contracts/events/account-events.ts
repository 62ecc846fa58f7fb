import { z } from 'zod'
import { tierSchema } from '../domain/plans.ts'
import { accountId, sha256, timeMs } from '../infra/field-schemas.ts'
import { defineEvent } from './event-definition.ts'

const stream = 'account-{account}'

export const SubjectKeyCreated = defineEvent('SubjectKeyCreated', 'subject-{account}.{generation}', {
  summary: "The wrapped key that seals an account's personal data; erasing its stream forgets the person.",
  data: z.object({ accountId, generation: z.int().nonnegative(), wrappedKey: z.string().min(1).max(512) }),
})

export const AccountOpened = defineEvent('AccountOpened', stream, {
  summary: 'An account was opened by a sign-in code or by the operator. The address is sealed.',
  data: z.object({
    accountId,
    /** How many times the account was erased before; names the stream of its key. */
    generation: z.int().nonnegative(),
    sealedEmail: z.string().min(1).max(1_024).nullable(),
  }),
})

export const OwnerMailed = defineEvent('OwnerMailed', stream, {
  summary: 'A notice to the owner, recorded before its mail is sent, so that the hourly limit holds.',
  data: z.object({ accountId }),
})

export const SignInRequested = defineEvent('SignInRequested', stream, {
  summary: 'A sign-in code was made; only a keyed hash of it is kept. Several may be open at a time.',
  data: z.object({
    accountId,
    requestId: z.uuid(),
    codeHash: sha256,
    expiresAt: timeMs,
  }),
})

export const SignInConfirmed = defineEvent('SignInConfirmed', stream, {
  summary: 'The code of a sign-in request was given; the request is used up.',
  data: z.object({ accountId, requestId: z.uuid() }),
})

/** The owner's name for a key, null without one. It may say anything, so it is sealed under the key of the account. */
const keyLabelSchema = z.strictObject({ sealed: z.string().min(1).max(1_024) }).nullable()
export type KeyLabel = z.infer<typeof keyLabelSchema>

export const KeyIssued = defineEvent('KeyIssued', stream, {
  summary: 'An API key was issued; only its SHA-256 and first characters are stored. Its label is sealed.',
  data: z.object({
    accountId,
    keyId: z.uuid(),
    keyHash: sha256,
    hint: z.string().min(1).max(16),
    label: keyLabelSchema,
  }),
})

export const KeyRevoked = defineEvent('KeyRevoked', stream, {
  summary: 'An API key no longer applies.',
  data: z.object({ accountId, keyId: z.uuid(), reason: z.string().min(1).max(200) }),
})

export const SessionsEnded = defineEvent('SessionsEnded', stream, {
  summary: 'Browser sessions that began before an instant were ended, by the owner or by the operator.',
  data: z.object({ accountId, before: timeMs, reason: z.string().min(1).max(200) }),
})

export const PlanStarted = defineEvent('PlanStarted', stream, {
  summary: 'A paid plan began: granted by the operator, or bought.',
  data: z.object({
    accountId,
    tier: tierSchema.exclude(['free']),
    from: timeMs,
    to: timeMs,
    source: z.enum(['operator', 'payment']),
    reference: z.string().max(200).nullable(),
  }),
})

export const PlanEnded = defineEvent('PlanEnded', stream, {
  summary: 'The plans of a tier were ended early or replaced, including those that had not begun.',
  data: z.object({ accountId, tier: tierSchema, reason: z.string().min(1).max(200) }),
})

export const AccountErased = defineEvent('AccountErased', stream, {
  summary: 'An account was erased: its keys and sessions have ended, and the key of its sealed data is gone.',
  data: z.object({ accountId, generation: z.int().nonnegative() }),
})
