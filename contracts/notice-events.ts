import { z } from 'zod'
import { defineEvent } from './event-definition.ts'

/** Notices that the owner of a subscription receives about its endpoint: changes of its state, and reminders. */
export const NOTICE_KINDS = [
  'failing',
  'degraded_1h',
  'degraded_24h',
  'degraded_72h',
  'disabled',
  'recovered',
] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]

export const OwnerNotified = defineEvent({
  type: 'OwnerNotified',
  stream: 'notice-{subscription}',
  summary:
    'The owner is notified, at other endpoints of the account and by mail, that this one fails, has been failing for an hour, a day or three, is disabled, or works again. It stands before the sending, so that one process sends, and after it; where a process dies in between, another sends the notice again.',
  data: z.object({
    subscriptionId: z.uuid(),
    kind: z.enum(NOTICE_KINDS),
    /** When it was degraded or disabled, Unix milliseconds: each such time has notices of its own. */
    since: z.int().nonnegative(),
    stage: z.enum(['begun', 'sent']),
  }),
})
