import { z } from 'zod'
import { DELIVERY_RESULTS } from '../../../contracts/delivery-events.ts'
import { exactInstantParameter } from '../../../contracts/instant-parameter.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import { SIGNAL_TYPES, type SignalType } from '../../../contracts/subscription.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { filterChangeSchema, filterFields, sendingFields } from '../../webhooks/index.ts'

export const subscriptionParams = z.strictObject({
  id: z.uuid().toLowerCase().describe('The `id` of the subscription'),
})

/** A position of the log, an instant, or a word. */
const pointSchema = z.string().min(1).max(64)

const urlSchema = z
  .string()
  .min(1)
  .max(LIMITS.webhookUrlCharacters)
  .describe('A public HTTPS address on port 443 or 8443')

export const createSchema = z
  .strictObject({
    url: urlSchema,
    ...filterFields,
    ...sendingFields,
    start: pointSchema
      .default('now')
      .describe(
        `Signals after this: \`now\`, a position, or an ISO 8601 instant, at most ${LIMITS.webhookPastMs / (24 * HOUR_MS)} days back`,
      ),
  })
  .refine(({ url }) => /^https?:\/\/[^/]/i.test(url), {
    path: ['url'],
    error: 'must begin with https:// and a host',
    // Alone, a wrong address is refused by where it leads: `url_refused` says more.
    when: ({ value, issues }) =>
      typeof (value as { url?: unknown } | null)?.url === 'string' && issues.length > 0,
  })

export const changeSchema = filterChangeSchema.extend({ url: urlSchema.optional(), ...sendingFields })

export const listQuery = z.strictObject({
  status: z
    .enum(['active', 'disabled', 'all'])
    .default('active')
    .describe('`active`: those that are paused and degraded included; `disabled`; `all`'),
  after: z
    .string()
    .max(64)
    .regex(/^\d{15}\.[0-9a-f-]{36}$/, 'must be the `next` of an answer')
    .optional()
    .describe('Those after these: the `next` of the answer before'),
  limit: rowsParameter(LIMITS.webhookRows, 50),
})

export const resumeFields = {
  from: z
    .enum(['cursor', 'now', 'since'])
    .default('cursor')
    .describe('Go on where it stopped, leave out what lies between, or begin after `since`'),
  since: pointSchema.optional().describe('A position or an instant; with `from: "since"`'),
}

export interface ResumeRequest {
  readonly from: 'cursor' | 'now' | 'since'
  readonly since?: string | undefined
}

export const hasSinceWhereAsked = ({ from, since }: ResumeRequest): boolean =>
  (from === 'since') === (since !== undefined)

export const SINCE_FAULT = { path: ['since'], error: 'goes with `from: "since"`, and only with it' }

export const rotateFields = {
  overlap_hours: z
    .number()
    .min(0)
    .max(LIMITS.secretOverlapMaxMs / HOUR_MS)
    .default(LIMITS.secretOverlapMs / HOUR_MS)
    .describe('How long the secrets before it sign beside it'),
}

export const testFields = { event: z.enum(SIGNAL_TYPES).optional() }

export interface TestRequest {
  readonly event?: SignalType | undefined
}

export const recoverFields = {
  since: exactInstantParameter.describe('What was given up then and later is tried again, the oldest first'),
}

const limit = rowsParameter(LIMITS.webhookRows, 50)
const after = z.string().min(1).max(64)

export const attemptsQuery = z.strictObject({
  after: after.optional().describe('Those after these: the `next` of the answer before'),
  limit,
  result: z.enum(DELIVERY_RESULTS).optional().describe('Only attempts that ended so'),
})
export type AttemptsQuery = z.output<typeof attemptsQuery>

export const eventsQuery = z.strictObject({
  after: after
    .default('0')
    .describe('Those after this: the number of the last delivery you have, or the `next` of an answer'),
  limit,
})
export type EventsQuery = z.output<typeof eventsQuery>
