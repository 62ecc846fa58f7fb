import type { z } from 'zod'
import { assert } from '../../contracts/assert.ts'
import type { Origin } from '../../contracts/event.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import type { eventsAnswerSchema } from '../../contracts/webhook-answers.ts'
import type { Identify } from '../accounts/index.ts'
import type { Clock } from '../runtime/async/clock.ts'
import {
  type ChangeRequest,
  type DeliveryQueries,
  type Subscriptions,
  type SubscriptionView,
} from '../webhooks/index.ts'
import {
  type AttemptsQuery,
  type createSchema,
  type EventsQuery,
  type listQuery,
  type ResumeRequest,
  type TestRequest,
} from './routes/webhook-requests.ts'
import { toAttempt, toRetry, toSubscriptionAnswer, toTestAnswer } from './webhook-answers.ts'

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

/** All that an owner can do with webhooks, in the fields of the interface: the same over HTTP and MCP. */
export const webhookActs = (service: WebhookService) => ({
  ...subscriptionActs(service),
  ...deliveryActs(service),
})

function subscriptionActs(service: WebhookService) {
  const { subscriptions, now } = service
  const shown = (view: SubscriptionView) => toSubscriptionAnswer(view, subscriptions.warnings(view), now())
  return {
    create: async ({ accountId, origin }: WebhookOwner, asked: z.output<typeof createSchema>) => {
      const made = await subscriptions.create(accountId, asked, origin)
      assert(made.secret !== '', 'a webhook that is made has a secret')
      return { ...shown(made), secret: made.secret }
    },
    list: async ({ accountId }: WebhookOwner, asked: z.output<typeof listQuery>) => {
      const { rows, next, needsReview } = await subscriptions.list(accountId, asked)
      return { webhooks: rows.map(shown), needs_review: needsReview, next }
    },
    show: async ({ accountId }: WebhookOwner, { id }: One) => shown(await subscriptions.show(accountId, id)),
    change: async ({ accountId, origin }: WebhookOwner, { id, ...change }: One & ChangeRequest) =>
      shown(await subscriptions.change(accountId, id, change, origin)),
    remove: async ({ accountId, origin }: WebhookOwner, { id }: One) => {
      await subscriptions.remove(accountId, id, origin)
      return undefined
    },
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
    test: async ({ accountId }: WebhookOwner, { id, event }: One & TestRequest) =>
      toTestAnswer(await subscriptions.test(accountId, id, event)),
    recover: async (
      { accountId, origin }: WebhookOwner,
      { id, since }: One & { readonly since: string },
    ) => ({ deliveries: await subscriptions.recover(accountId, id, Date.parse(since), origin) }),
  }
}

function deliveryActs({ subscriptions, queries }: WebhookService) {
  return {
    attempts: async ({ accountId }: WebhookOwner, { id, ...query }: One & AttemptsQuery) => {
      const subscription = await subscriptions.find(accountId, id)
      const { rows, next } = await queries.attempts(id, query)
      return { attempts: (await subscriptions.openAttempts(subscription, rows)).map(toAttempt), next }
    },
    retries: async ({ accountId }: WebhookOwner, { id }: One) => {
      const open = await queries.open(await subscriptions.find(accountId, id))
      return { retries: open.map(toRetry) }
    },
    events: async ({ accountId }: WebhookOwner, { id, ...query }: One & EventsQuery) => {
      const { rows, next } = await queries.missed(await subscriptions.find(accountId, id), query)
      return { events: rows.map(({ body }) => JSON.parse(body.toString('utf8')) as EventBody), next }
    },
  }
}
