import type { SignalType } from '../../../contracts/domain/subscription.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { DeliveryAttempt } from '../../../contracts/events/delivery-events.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import { isToRecover } from '../deliveries/delivery-state.ts'
import { hasAccepted } from '../deliveries/may-pull.ts'
import { findExhausted } from '../deliveries/read-deliveries.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { changing, executeFor } from './change-subscription.ts'
import { type CreateRequest, createSubscription } from './create-subscription.ts'
import {
  currentFilter,
  decideSubscription,
  requireNotStopped,
  type SubscriptionCommand,
  unknownSubscriptionError,
} from './decide-subscription.ts'
import { filterWarnings } from './filter-warnings.ts'
import { createKnownDeliveries } from './known-deliveries.ts'
import { createOwnerMail } from './owner-mail.ts'
import {
  findOwn,
  heldOf,
  hostWaitOf,
  operatorViewOf,
  READS_AT_ONCE,
  type SubscriptionView,
  viewOf,
} from './read-subscription.ts'
import { sendSample } from './send-sample.ts'
import type { SubscriptionDeps, SubscriptionsOptions } from './subscription-deps.ts'
import { createSubscriptionLog } from './subscription-log.ts'
import { openAnswers, openSubscription, signingAt } from './subscription-secrets.ts'
import { removeFormer, removeOrphans, tidySlot } from './tidy-slots.ts'

interface ListQuery {
  /** `active`: paused ones included. */
  readonly status: 'active' | 'disabled' | 'all'
  /** `next` of the page before. */
  readonly after?: string | undefined
  readonly limit: number
}

/** An attempt as its owner sees it. */
export interface OpenedAttempt extends Omit<DeliveryAttempt, 'detail' | 'eventId'> {
  /** The endpoint's answer, or the fault; null where nothing is kept. */
  readonly detail: string | null
  /** Null while the endpoint has never taken a delivery: by it anybody can look the signal up. */
  readonly eventId: string | null
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

/**
 * Subscriptions over the log, for their owners and the operator. Until the signal, those of erased accounts are removed.
 * Ids are UUIDs in lower case. Each change resolves once it is durable, and can be repeated. All methods throw
 * ServiceError `not_found` for one that is removed or belongs to another account, and the store's errors.
 *
 * @example const subscriptions = createSubscriptions({ store, owners, sender, sign, … })
 */
export function createSubscriptions(options: SubscriptionsOptions) {
  const deliveries = createKnownDeliveries(options.store)
  const deps: SubscriptionDeps = { ...options, deliveries, log: createSubscriptionLog(options) }
  const running = removeOrphans(deps).catch((error: unknown) =>
    options.report('removing subscriptions of erased accounts has stopped', { reason: reasonOf(error) }),
  )
  return {
    create: (accountId: string, request: CreateRequest, origin: Origin) =>
      createSubscription(deps, accountId, request, origin),
    ...reading(deps),
    ...changing(deps),
    ...sending(deps),
    ...operating(deps),
    /** Why its deliveries wait, and the parts of its filter that can never send anything, in words. */
    warnings: (view: SubscriptionView) => [
      ...(view.held === undefined ? [] : [view.held]),
      ...hostWaitOf(view),
      ...filterWarnings(currentFilter(view.subscription), options.coverage()),
    ],
    mail: createOwnerMail(deps),
    /**
     * Removes the subscriptions of an erased account; when it resolves, nothing begins to be sent there any more. It
     * happens by itself as well, a moment later, and where this fails.
     */
    removeErased: (accountId: string) => removeFormer(deps, accountId),
    /** Resolves once the work in the background has ended, after the signal. */
    ended: () => running,
  }
}

/** Sort key of a subscription within its account, by creation; a cursor that outlives the subscription. */
const placeOf = ({ createdAt, subscriptionId }: Subscription): string =>
  `${String(createdAt).padStart(15, '0')}.${subscriptionId}`

/** Given up, or stopped by the operator. */
const isOut = ({ state }: Subscription): boolean => state === 'disabled' || state === 'stopped'

const TIDYING = { correlationId: 'list', actor: 'subscriptions' }

function reading(deps: SubscriptionDeps) {
  const { log, owners } = deps
  async function allOf(accountId: string): Promise<Subscription[]> {
    const { current } = await owners.slots(accountId)
    const all: Subscription[] = []
    for (const slot of current) {
      const subscription = await log.load(slot.subscriptionId)
      if (subscription !== undefined && subscription.state !== 'removed') all.push(subscription)
      else await tidySlot(deps, accountId, slot, TIDYING)
    }
    return all
  }
  return {
    /** In the order of their creation; `needsReview` counts the disabled and stopped ones of the whole account. */
    async list(accountId: string, { status, after, limit }: ListQuery) {
      const all = await allOf(accountId)
      const wanted = all
        .filter((one) => status === 'all' || isOut(one) === (status === 'disabled'))
        .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
        .filter((subscription) => after === undefined || placeOf(subscription) > after)
      const page = wanted.slice(0, limit)
      const last = page.at(-1)
      const held = await heldOf(deps, accountId, all)
      return {
        rows: await mapConcurrently(page, READS_AT_ONCE, async (one) => ({
          ...(await viewOf(deps, one)),
          held,
        })),
        next: last !== undefined && page.length < wanted.length ? placeOf(last) : null,
        needsReview: all.filter(isOut).length,
      }
    },
    async show(accountId: string, subscriptionId: string): Promise<SubscriptionView> {
      const subscription = await findOwn(deps, accountId, subscriptionId)
      const held = await heldOf(deps, accountId, await allOf(accountId))
      return { ...(await viewOf(deps, subscription)), held }
    },
    /** The subscription itself, for questions about its deliveries. */
    find: (accountId: string, subscriptionId: string) => findOwn(deps, accountId, subscriptionId),
    /** Attempts of a subscription as its owner may see them, in the given order. */
    async openAttempts(
      subscription: Subscription,
      attempts: readonly DeliveryAttempt[],
    ): Promise<readonly OpenedAttempt[]> {
      const isAccepting = hasAccepted(await deps.deliveries.load(subscription))
      const answers = await openAnswers(
        owners,
        subscription,
        attempts.map(({ detail }) => detail),
      )
      return attempts.map((attempt, index) => ({
        ...attempt,
        detail: answers[index] ?? null,
        eventId: isAccepting ? attempt.eventId : null,
      }))
    },
  }
}

function sending(deps: SubscriptionDeps) {
  const { store, owners, deliveries, takeUnasked, now } = deps
  return {
    /** Sends a sample now, in any state of the subscription. @throws ServiceError `rate_limited` */
    async test(accountId: string, id: string, asked?: SignalType) {
      const subscription = await findOwn(deps, accountId, id)
      requireNotStopped(subscription)
      const opened = await openSubscription(owners, subscription)
      await takeUnasked('test', accountId, opened.url)
      const secrets = signingAt(opened, now())
      const target = { url: opened.url, secrets }
      const [first = 'trade_call'] = currentFilter(subscription).events
      return sendSample(deps, target, asked ?? first)
    },
    /**
     * Tries again what was given up since an instant (Unix milliseconds), as many as may wait.
     *
     * @returns how many deliveries that are
     * @throws ServiceError `invalid_request`, `state_conflict`
     */
    async recover(accountId: string, id: string, since: number, origin: Origin): Promise<number> {
      const own = await findOwn(deps, accountId, id)
      requireNotStopped(own)
      const { open } = await deliveries.load(own)
      const { found, isWhole } = await findExhausted(store, id, { since, open })
      if (!isWhole) {
        const problem = 'too much was sent since to be looked through; give a later instant'
        throw new ServiceError('invalid_request', {
          message: `since: ${problem}`,
          details: { fields: [{ field: 'since', problem }] },
        })
      }
      if (found.length === 0) return 0
      await executeFor(deps, accountId, id, origin, async (state) => ({
        kind: 'Recover',
        since,
        isWaiting: isToRecover(state, await deliveries.load(state)),
      }))
      return found.length
    },
  }
}

function operating(deps: SubscriptionDeps) {
  const { log, index } = deps
  const findAny = async (id: string): Promise<Subscription> => {
    const subscription = await log.load(id)
    if (subscription !== undefined && subscription.state !== 'removed') return subscription
    throw new ServiceError('not_found', { message: `There is no subscription ${id}.` })
  }
  const execute = async (id: string, command: SubscriptionCommand, origin: Origin) => {
    const { after } = await log.execute(id, origin, (state) =>
      decideSubscription({ subscriptionId: id }, command, state),
    )
    if (after === undefined) throw unknownSubscriptionError(id)
    return operatorViewOf(deps, after)
  }
  return {
    /** All accounts', in the order of ids, with only the origins of their addresses. @throws ServiceError `store_unavailable` */
    async listAll({ after, limit }: { readonly after?: string | undefined; readonly limit: number }) {
      if (index?.position() === undefined) {
        throw new ServiceError('store_unavailable', {
          message: 'The read model of subscriptions does not follow the log at the moment.',
          isForCallers: true,
        })
      }
      const page = index.page({ after, limit: Math.min(limit, LIMITS.webhookRows) })
      return mapConcurrently(page, READS_AT_ONCE, (subscription) => operatorViewOf(deps, subscription))
    },
    showAny: async (id: string): Promise<SubscriptionView> => operatorViewOf(deps, await findAny(id)),
    /** Stops one until the operator allows it. */
    stop: (id: string, reason: string, origin: Origin) => execute(id, { kind: 'Stop', reason }, origin),
    /** Lifts a stop: it is paused from then on, and its owner may resume it. Does nothing to one that is not stopped. */
    allow: (id: string, reason: string, origin: Origin) => execute(id, { kind: 'Allow', reason }, origin),
  }
}
