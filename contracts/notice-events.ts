import { z } from 'zod'
import { defineEvent } from './event-definition.ts'

/** Notices that the owner of a subscription receives about its endpoint. */
export const NOTICE_KINDS = ['degraded_1h', 'degraded_24h', 'degraded_72h', 'disabled'] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]

export const OwnerNotified = defineEvent({
  type: 'OwnerNotified',
  stream: 'notice-{subscription}',
  summary:
    'The owner was notified, at other endpoints of the account, that this one has been failing for an hour, a day or three, or is disabled. A process that dies in between sends the notice again.',
  data: z.object({
    subscriptionId: z.uuid(),
    kind: z.enum(NOTICE_KINDS),
    /** When it was degraded or disabled, Unix milliseconds: each such time has notices of its own. */
    since: z.int().nonnegative(),
  }),
})
