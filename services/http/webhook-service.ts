import { z } from 'zod'
import { exactInstantParameter, rowsParameter } from '../../contracts/answers/parameters.ts'
import type { eventsAnswerSchema } from '../../contracts/answers/webhook.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import { SIGNAL_TYPES, type SignalType } from '../../contracts/domain/subscription.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { DELIVERY_RESULTS } from '../../contracts/events/delivery-events.ts'
import type { Origin } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Identify } from '../accounts/index.ts'
import type { Clock } from '../runtime/async/clock.ts'
import {
  type ChangeRequest,
  type DeliveryQueries,
  filterChangeSchema,
  filterFields,
  type Subscriptions,
  type SubscriptionView,
  sendingFields,
} from '../webhooks/index.ts'
import { toAttempt, toRetry, toSubscriptionAnswer, toTestAnswer } from './webhook-responses.ts'

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
    .describe('`active`: those that are paused included; `disabled`; `all`'),
  after: z
    .string()
    .max(64)
    .regex(/^\d{15}\.[0-9a-f-]{36}$/, 'must be the `next` of an answer')
    .optional()
    .describe('Those after these: the `next` of the answer before'),
  limit: rowsParameter(LIMITS.webhookRows, 50),
})

const resumeFields = {
  from: z
    .enum(['cursor', 'now', 'since'])
    .default('cursor')
    .describe('Go on where it stopped, leave out what lies between, or begin after `since`'),
  since: pointSchema.optional().describe('A position or an instant; with `from: "since"`'),
}

interface ResumeRequest {
  readonly from: 'cursor' | 'now' | 'since'
  readonly since?: string | undefined
}

/** A request to resume, with further fields beside its own. */
export const resumeSchema = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z.strictObject({ ...fields, ...resumeFields }).refine(
    (request) => {
      const { from, since } = request as ResumeRequest
      return (from === 'since') === (since !== undefined)
    },
    { path: ['since'], error: 'goes with `from: "since"`, and only with it' },
  )

export const rotateFields = {
  overlap_hours: z
    .number()
    .min(0)
    .max(LIMITS.secretOverlapMaxMs / HOUR_MS)
    .default(LIMITS.secretOverlapMs / HOUR_MS)
    .describe('How long the secrets before it sign beside it'),
}

export const testFields = { event: z.enum(SIGNAL_TYPES).optional() }

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

export const eventsQuery = z.strictObject({
  after: after
    .default('0')
    .describe('Those after this: the number of the last delivery you have, or the `next` of an answer'),
  limit,
})

export interface WebhookService extends Pick<Clock, 'now'> {
  readonly subscriptions: Subscriptions
  readonly queries: DeliveryQueries
  /** Finds the account of a request by its credential. */
  readonly identify: Identify
}

/** The account whose key came with a request. */
export interface WebhookOwner {
  readonly accountId: string
  readonly origin: Origin
}

interface One {
  readonly id: string
}

type EventBody = z.infer<typeof eventsAnswerSchema>['events'][number] & JsonObject

/** The actions of an owner on webhooks, in the fields of the interface: the same over HTTP and MCP. */
export const webhookHandlers = (service: WebhookService) => ({
  ...subscriptionHandlers(service),
  ...deliveryHandlers(service),
})

function subscriptionHandlers(service: WebhookService) {
  const { subscriptions, now } = service
  const shown = (view: SubscriptionView) => toSubscriptionAnswer(view, subscriptions.warnings(view), now())
  return {
    create: async ({ accountId, origin }: WebhookOwner, input: z.output<typeof createSchema>) => {
      const made = await subscriptions.create(accountId, input, origin)
      assert(made.secret !== '', 'a webhook that is made has a secret')
      return { ...shown(made), secret: made.secret }
    },
    list: async ({ accountId }: WebhookOwner, query: z.output<typeof listQuery>) => {
      const { rows, next, needsReview } = await subscriptions.list(accountId, query)
      return { webhooks: rows.map(shown), needs_review: needsReview, next }
    },
    show: async ({ accountId }: WebhookOwner, { id }: One) => shown(await subscriptions.show(accountId, id)),
    change: async ({ accountId, origin }: WebhookOwner, { id, ...change }: One & ChangeRequest) =>
      shown(await subscriptions.change(accountId, id, change, origin)),
    remove: ({ accountId, origin }: WebhookOwner, { id }: One): Promise<undefined> =>
      subscriptions.remove(accountId, id, origin).then(() => undefined),
    pause: async ({ accountId, origin }: WebhookOwner, { id }: One) =>
      shown(await subscriptions.pause(accountId, id, origin)),
    resume: async ({ accountId, origin }: WebhookOwner, { id, from, since }: One & ResumeRequest) =>
      shown(await subscriptions.resume(accountId, id, { from, since }, origin)),
    rotate: async (
      { accountId, origin }: WebhookOwner,
      { id, overlap_hours: hours }: One & { readonly overlap_hours: number },
    ) => {
      const rotated = await subscriptions.rotateSecret(accountId, id, Math.round(hours * HOUR_MS), origin)
      return { secret: rotated.secret, overlap_until: isoTime(rotated.overlapUntil) }
    },
    test: async (
      { accountId }: WebhookOwner,
      { id, event }: One & { readonly event?: SignalType | undefined },
    ) => toTestAnswer(await subscriptions.test(accountId, id, event)),
    recover: async (
      { accountId, origin }: WebhookOwner,
      { id, since }: One & { readonly since: string },
    ) => ({ deliveries: await subscriptions.recover(accountId, id, Date.parse(since), origin) }),
  }
}

function deliveryHandlers({ subscriptions, queries }: WebhookService) {
  return {
    attempts: async ({ accountId }: WebhookOwner, { id, ...query }: One & z.output<typeof attemptsQuery>) => {
      const subscription = await subscriptions.find(accountId, id)
      const { rows, next } = await queries.attempts(id, query)
      return { attempts: (await subscriptions.openAttempts(subscription, rows)).map(toAttempt), next }
    },
    retries: async ({ accountId }: WebhookOwner, { id }: One) => {
      const open = await queries.open(await subscriptions.find(accountId, id))
      return { retries: open.map(toRetry) }
    },
    events: async ({ accountId }: WebhookOwner, { id, ...query }: One & z.output<typeof eventsQuery>) => {
      const { rows, next } = await queries.missed(await subscriptions.find(accountId, id), query)
      return { events: rows.map(({ body }) => JSON.parse(body.toString('utf8')) as EventBody), next }
    },
  }
}
