import { z } from 'zod'
import { defineEvent } from './event-definition.ts'
import { reason } from './field-schemas.ts'
import { LIMITS } from './limits.ts'

/** A name of the domain name system in lower case, or an address; without a port. */
export const webhookHostSchema = z
  .string()
  .min(1)
  .max(LIMITS.webhookHostCharacters)
  .regex(/^[a-z0-9_.:-]+$/)

const stream = 'webhook-hosts'

export const WebhookHostBlocked = defineEvent({
  type: 'WebhookHostBlocked',
  stream,
  summary:
    'The operator has nothing sent to a host any more, nor to names below it: by no subscription, old or new, and by no test.',
  data: z.object({ host: webhookHostSchema, reason }),
})

export const WebhookHostAllowed = defineEvent({
  type: 'WebhookHostAllowed',
  stream,
  summary: 'The operator lifted the block of a host.',
  data: z.object({ host: webhookHostSchema, reason }),
})
