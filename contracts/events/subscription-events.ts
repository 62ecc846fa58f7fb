import { z } from 'zod'
import { sendingSchema, subscriptionFilterSchema } from '../domain/subscription.ts'
import { accountId, reason, sealed, timeMs } from '../infra/field-schemas.ts'
import { positionSchema } from '../infra/position.ts'
import { defineEvent } from './event-definition.ts'

const subscriptionId = z.uuid()
const stream = 'subscription-{subscription}'

export const SubscriptionCreated = defineEvent('SubscriptionCreated', stream, {
  summary: 'An account subscribed an address to signals after a position. Address and secret are sealed.',
  data: z.object({
    subscriptionId,
    accountId,
    generation: z.int().nonnegative(),
    sealedUrl: sealed,
    sealedSecret: sealed,
    filter: subscriptionFilterSchema,
    sending: sendingSchema,
    /** Signals after this position. */
    startAfter: positionSchema,
  }),
})

export const EndpointChanged = defineEvent('EndpointChanged', stream, {
  summary: 'The owner changed the address or the sending options; this applies to waiting retries as well.',
  data: z.object({ subscriptionId, sealedUrl: sealed, sending: sendingSchema }),
})

export const SubscriptionChanged = defineEvent('SubscriptionChanged', stream, {
  summary: 'Another filter, for signals that are appended after this event.',
  data: z.object({ subscriptionId, filter: subscriptionFilterSchema }),
})

export const SecretRotated = defineEvent('SecretRotated', stream, {
  summary: 'A new signing secret. Until the overlap ends, deliveries carry signatures of both.',
  data: z.object({
    subscriptionId,
    generation: z.int().nonnegative(),
    sealedSecret: sealed,
    overlapUntil: timeMs,
  }),
})

export const SubscriptionPaused = defineEvent('SubscriptionPaused', stream, {
  summary: 'Nothing is sent until it is resumed; the cursor stands still, so nothing is lost.',
  data: z.object({ subscriptionId, reason }),
})

export const SubscriptionResumed = defineEvent('SubscriptionResumed', stream, {
  summary: 'Sending resumes, from the cursor or after another position, also for a disabled subscription.',
  data: z.object({
    subscriptionId,
    from: z.enum(['cursor', 'now', 'since']),
    after: positionSchema.nullable(),
  }),
})

export const SubscriptionDisabled = defineEvent('SubscriptionDisabled', stream, {
  summary: 'Sending ended: the endpoint kept failing or is gone, or the operator stopped the subscription.',
  data: z.object({ subscriptionId, reason, by: z.enum(['endpoint', 'operator']) }),
})

export const SubscriptionAllowed = defineEvent('SubscriptionAllowed', stream, {
  summary: 'The operator lifted a stop: the subscription is now paused, and its owner may resume it.',
  data: z.object({ subscriptionId, reason }),
})

export const SubscriptionRemoved = defineEvent('SubscriptionRemoved', stream, {
  summary: 'The owner removed it, or the account was erased. Nothing is sent after this.',
  data: z.object({ subscriptionId, reason }),
})

export const SubscriptionSlotTaken = defineEvent('SubscriptionSlotTaken', 'account-{account}', {
  summary: "A subscription slot was taken within the plan's limit, before the subscription is recorded.",
  data: z.object({ accountId, subscriptionId }),
})

export const SubscriptionSlotFreed = defineEvent('SubscriptionSlotFreed', 'account-{account}', {
  summary: 'The room of a subscription that was removed, or never came to be, is free again.',
  data: z.object({ accountId, subscriptionId }),
})

export const RecoveryRequested = defineEvent('RecoveryRequested', stream, {
  summary: 'The owner asked to retry, oldest first, deliveries that were exhausted since an instant.',
  data: z.object({ subscriptionId, since: timeMs }),
})
