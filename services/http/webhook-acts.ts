import type { z } from 'zod'
import { assert } from '../../contracts/assert.ts'
import type { Origin } from '../../contracts/event.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/timeframes.ts'
import type { eventsAnswerSchema } from '../../contracts/webhook-answers.ts'
import type { Identify } from '../accounts/index.ts'
import type { Clock } from '../runtime/async/clock.ts'
import {
  type ChangeRequest,
  type DeliveryQueries,
  filterWarnings,
  readFilter,
  type SignalCoverage,
  type Subscriptions,
  type SubscriptionView,
} from '../webhooks/index.ts'
import {
  type AttemptsQuery,
  type createSchema,
  type DaysQuery,
  type DryRunRequest,
  type EventsQuery,
  type listQuery,
  type ResumeRequest,
  type replaySchema,
  replayWindow,
  type TestRequest,
} from './routes/webhook-requests.ts'
import {
  toAttempt,
  toCancelledAnswer,
  toReplayAnswer,
  toRetry,
  toSubscriptionAnswer,
  toTestAnswer,
} from './webhook-answers.ts'
import type { Asker, WebhookLooks } from './webhook-looks.ts'

export interface WebhookService extends Pick<Clock, 'now'> {
  readonly subscriptions: Subscriptions
  readonly queries: DeliveryQueries
  /** Finds the account of a request by its credential. */
  readonly identify: Identify
  /** One for all routes and tools. */
  readonly looks: WebhookLooks
  readonly coverage: () => SignalCoverage
  /** Checks how an address is written. @throws ServiceError `url_refused` */
  readonly checkUrl: (url: string) => unknown
}

/** The account whose key came with a request, and the request that waits. */
export interface WebhookOwner {
  readonly accountId: string
  readonly origin: Origin
  readonly asker: Asker
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

const lookWith =
  ({ looks }: WebhookService) =>
  <Answer>({ accountId, asker }: WebhookOwner, work: () => Promise<Answer>) =>
    looks.look(accountId, asker, work)

function subscriptionActs(service: WebhookService) {
  const { subscriptions, now } = service
  const look = lookWith(service)
  const shown = (view: SubscriptionView) =>
    toSubscriptionAnswer(view, subscriptions.warnings(view.subscription), now())
  return {
    create: async ({ accountId, origin }: WebhookOwner, asked: z.output<typeof createSchema>) => {
      const made = await subscriptions.create(accountId, asked, origin)
      assert(made.secret !== '', 'a webhook that is made has a secret')
      return { ...shown(made), secret: made.secret }
    },
    list: (owner: WebhookOwner, asked: z.output<typeof listQuery>) =>
      look(owner, async () => {
        const { rows, next, needsReview } = await subscriptions.list(owner.accountId, asked)
        return { webhooks: rows.map(shown), needs_review: needsReview, next }
      }),
    show: async (owner: WebhookOwner, { id }: One) =>
      shown(await look(owner, () => subscriptions.show(owner.accountId, id))),
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
    replay: async (owner: WebhookOwner, { id, ...window }: One & z.output<typeof replaySchema>) => {
      const { accountId, origin } = owner
      const ask = () => subscriptions.replay(accountId, id, replayWindow(window), origin)
      return toReplayAnswer(await look(owner, ask))
    },
    cancelReplay: async (
      { accountId, origin }: WebhookOwner,
      { id, replay_id: replayId }: One & { readonly replay_id: string },
    ) => toCancelledAnswer(await subscriptions.cancelReplay(accountId, id, replayId, origin), replayId),
  }
}

function deliveryActs(service: WebhookService) {
  const { subscriptions, queries, looks, now, coverage, checkUrl } = service
  const look = lookWith(service)
  return {
    attempts: (owner: WebhookOwner, { id, ...query }: One & AttemptsQuery) =>
      look(owner, async () => {
        const subscription = await subscriptions.find(owner.accountId, id)
        const { rows, next } = await queries.attempts(subscription, query)
        return { attempts: (await subscriptions.openAttempts(subscription, rows)).map(toAttempt), next }
      }),
    days: (owner: WebhookOwner, { id, days: asked }: One & DaysQuery) =>
      look(owner, async () => {
        const { subscriptionId } = await subscriptions.find(owner.accountId, id)
        const { days, isComplete } = await queries.days(subscriptionId, { now: now(), days: asked })
        return { days: [...days], is_complete: isComplete }
      }),
    delivery: (owner: WebhookOwner, { id, delivery_id: delivery }: One & { readonly delivery_id: string }) =>
      look(owner, async () => {
        const subscription = await subscriptions.find(owner.accountId, id)
        const found = await queries.show(subscription, delivery)
        return {
          delivery_id: found.deliveryId,
          sequence: found.sequence,
          event: found.signal.type,
          body: found.body.toString('utf8'),
          body_sha256: found.bodySha256,
          attempts: (await subscriptions.openAttempts(subscription, found.attempts)).map(toAttempt),
          is_complete: found.isComplete,
        }
      }),
    retries: (owner: WebhookOwner, { id }: One) =>
      look(owner, async () => {
        const open = await queries.open(await subscriptions.find(owner.accountId, id))
        return { retries: open.map(toRetry) }
      }),
    events: (owner: WebhookOwner, { id, ...query }: One & EventsQuery) =>
      look(owner, async () => {
        const { rows, next } = await queries.missed(await subscriptions.find(owner.accountId, id), query)
        return { events: rows.map(({ body }) => JSON.parse(body.toString('utf8')) as EventBody), next }
      }),
    dryRun: async (
      { accountId, asker }: WebhookOwner,
      { from, to, limit, url, ...fields }: DryRunRequest,
    ) => {
      if (url !== undefined) checkUrl(url)
      const filter = readFilter(fields)
      const run = await looks.dryRun(accountId, asker, async () => {
        const after = await subscriptions.positionOf('from', from ?? isoTime(now() - DAY_MS))
        const upTo = to === undefined ? undefined : await subscriptions.positionOf('to', to)
        return queries.dryRun(filter, { after, upTo, limit })
      })
      return {
        matched: run.matched,
        rows: run.rows.map(({ eventId, position, at, data }) => ({
          event_id: eventId,
          position,
          at: isoTime(at),
          data: data as EventBody['data'],
        })),
        scanned: run.scanned,
        next: run.next,
        warnings: filterWarnings(filter, coverage()),
      }
    },
  }
}
