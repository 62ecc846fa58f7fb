import { z } from 'zod'
import { defineEvent } from './event-definition.ts'
import { accountId, sha256, timeMs } from './field-schemas.ts'
import { tierSchema } from './plans.ts'

const stream = 'account-{account}'

export const SubjectKeyCreated = defineEvent({
  type: 'SubjectKeyCreated',
  stream: 'subject-{account}.{generation}',
  summary:
    'The key under which what is personal of an account is sealed, itself wrapped under the master key. The one kind of stream that can be erased: that is how a person is forgotten.',
  data: z.object({ accountId, generation: z.int().nonnegative(), wrappedKey: z.string().min(1).max(512) }),
})

export const AccountOpened = defineEvent({
  type: 'AccountOpened',
  stream,
  summary:
    'The owner of an e-mail address has an account: they gave a code that was sent there, or the operator opened it, also without an address. The address is sealed. After an AccountErased it is another account of the same id.',
  data: z.object({
    accountId,
    /** How many times the account was erased before; names the stream of its key. */
    generation: z.int().nonnegative(),
    sealedEmail: z.string().min(1).max(1_024).nullable(),
  }),
})

export const OwnerMailed = defineEvent({
  type: 'OwnerMailed',
  stream,
  summary:
    'A notice is mailed to the owner; it stands before the mail, so that an hour sends no more than it may.',
  data: z.object({ accountId }),
})

export const SignInRequested = defineEvent({
  type: 'SignInRequested',
  stream,
  summary: 'A sign-in code was made; only a keyed hash of it is kept. Several may be open at a time.',
  data: z.object({
    accountId,
    requestId: z.uuid(),
    codeHash: sha256,
    expiresAt: timeMs,
  }),
})

export const SignInConfirmed = defineEvent({
  type: 'SignInConfirmed',
  stream,
  summary: 'The code of a sign-in request was given; the request is used up.',
  data: z.object({ accountId, requestId: z.uuid() }),
})

/** The owner's name for a key, null without one. It may say anything, so it is sealed under the key of the account. */
const keyLabelSchema = z.strictObject({ sealed: z.string().min(1).max(1_024) }).nullable()
export type KeyLabel = z.infer<typeof keyLabelSchema>

export const KeyIssued = defineEvent({
  type: 'KeyIssued',
  stream,
  summary:
    'An API key was issued. It was shown once; its SHA-256 and its first characters are kept. Its label is sealed under the key of the account.',
  data: z.object({
    accountId,
    keyId: z.uuid(),
    keyHash: sha256,
    hint: z.string().min(1).max(16),
    label: keyLabelSchema,
  }),
})

export const KeyRevoked = defineEvent({
  type: 'KeyRevoked',
  stream,
  summary: 'An API key no longer applies.',
  data: z.object({ accountId, keyId: z.uuid(), reason: z.string().min(1).max(200) }),
})

export const SessionBegun = defineEvent({
  type: 'SessionBegun',
  stream,
  summary:
    "A browser signed in to the pages. The session's secret is in a cookie; its SHA-256 is kept. It ends 30 days after this event, and 7 days after the last SessionSeen, whether or not a SessionEnded follows.",
  data: z.object({ accountId, sessionId: z.uuid(), secretHash: sha256 }),
})

export const SessionSeen = defineEvent({
  type: 'SessionSeen',
  stream,
  summary:
    'A session was used; recorded once a day at most, so that idle sessions can be told from used ones.',
  data: z.object({ accountId, sessionId: z.uuid() }),
})

export const SessionEnded = defineEvent({
  type: 'SessionEnded',
  stream,
  summary:
    'A session no longer applies: its browser signed out, the owner ended it, it had expired, or it gave way to a newer one.',
  data: z.object({ accountId, sessionId: z.uuid(), reason: z.string().min(1).max(200) }),
})

export const PlanStarted = defineEvent({
  type: 'PlanStarted',
  stream,
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

export const PlanEnded = defineEvent({
  type: 'PlanEnded',
  stream,
  summary:
    'The plans of a tier were ended before their time, or replaced by another, those that had not begun included.',
  data: z.object({ accountId, tier: tierSchema, reason: z.string().min(1).max(200) }),
})

export const AccountErased = defineEvent({
  type: 'AccountErased',
  stream,
  summary: 'An account was erased: its keys and sessions have ended, and the key of its sealed data is gone.',
  data: z.object({ accountId, generation: z.int().nonnegative() }),
})
