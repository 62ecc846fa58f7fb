import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Origin } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Subscription } from '../../../projections/index.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import { sentThrough } from '../deliveries/delivery-state.ts'
import { hasAccepted } from '../deliveries/may-pull.ts'
import { verifyWebhook } from '../receiving/verify-webhook.ts'
import { changing, executeFor } from './change-subscription.ts'
import { createSubscription } from './create-subscription.ts'
import {
  currentFilter,
  decideSubscription,
  requireNotStopped,
  type SubscriptionCommand,
  unknownSubscriptionError,
} from './decide-subscription.ts'
import { filterWarnings } from './filter-warnings.ts'
import { resolveStart } from './find-position.ts'
import { findWindow } from './find-window.ts'
import { createKnownDeliveries } from './known-deliveries.ts'
import { createNotifyOwner } from './notify-owner.ts'
import { findOwn, operatorViewOf, viewOf } from './read-subscription.ts'
import { sendSample } from './send-sample.ts'
import type { SubscriptionDeps, SubscriptionsOptions } from './subscription-deps.ts'
import { closeViewOf, lagOf } from './subscription-lag.ts'
import { createSubscriptionLog } from './subscription-log.ts'
import type { Subscriptions } from './subscription-operations.ts'
import { openAnswers, openSubscription, signingAt } from './subscription-secrets.ts'
import { removeFormer, removeOrphans, tidySlot } from './tidy-slots.ts'

/**
 * Subscriptions over the log. From now on those of erased accounts are removed, until the signal.
 *
 * @example const subscriptions = createSubscriptions({ store, owners, sender, sign, deliveries, sync, … })
 */
export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const deliveries = createKnownDeliveries(options.store)
  const deps: SubscriptionDeps = { ...options, deliveries, log: createSubscriptionLog(options) }
  const running = removeOrphans(deps).catch((error: unknown) =>
    options.report('removing subscriptions of erased accounts has stopped', { reason: reasonOf(error) }),
  )
  return {
    create: (accountId, request, { idempotencyKey }, origin) =>
      createSubscription(deps, accountId, request, idempotencyKey, origin),
    ...reading(deps),
    ...changing(deps),
    ...sending(deps),
    ...operating(deps),
    positionOf: (field, text) => resolveStart(options.looking, field, text, options.now()),
    warnings: (subscription) => filterWarnings(currentFilter(subscription), options.coverage()),
    notify: createNotifyOwner(deps),
    removeErased: (accountId) => removeFormer(deps, accountId),
    ended: () => running,
  }
}

/** Where a subscription stands among those of its account, by its creation; it stands also for one that is gone. */
const placeOf = ({ createdAt, subscriptionId }: Subscription): string =>
  `${String(createdAt).padStart(15, '0')}.${subscriptionId}`

/** Given up, or stopped by the operator. */
const isOut = ({ state }: Subscription): boolean => state === 'disabled' || state === 'stopped'

const READS_AT_ONCE = 4
const TIDYING = { correlationId: 'list', actor: 'subscriptions' }

function reading(deps: SubscriptionDeps): Pick<Subscriptions, 'list' | 'show' | 'find' | 'openAttempts'> {
  const { log, owners } = deps
  return {
    async list(accountId, { status, after, limit }) {
      const { current } = await owners.slots(accountId)
      const all: Subscription[] = []
      for (const slot of current) {
        const subscription = await log.load(slot.subscriptionId)
        if (subscription !== undefined && subscription.state !== 'removed') all.push(subscription)
        else await tidySlot(deps, accountId, slot, TIDYING)
      }
      const wanted = all
        .filter((one) => status === 'all' || isOut(one) === (status === 'disabled'))
        .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
        .filter((subscription) => after === undefined || placeOf(subscription) > after)
      const page = wanted.slice(0, limit)
      const last = page.at(-1)
      return {
        rows: await mapConcurrently(page, READS_AT_ONCE, (subscription) => viewOf(deps, subscription)),
        next: last !== undefined && page.length < wanted.length ? placeOf(last) : null,
        needsReview: all.filter(isOut).length,
      }
    },
    show: async (accountId, subscriptionId) =>
      closeViewOf(deps, await findOwn(deps, accountId, subscriptionId)),
    find: (accountId, subscriptionId) => findOwn(deps, accountId, subscriptionId),
    async openAttempts(subscription, attempts) {
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

function sending(
  deps: SubscriptionDeps,
): Pick<Subscriptions, 'test' | 'checkSignature' | 'replay' | 'cancelReplay'> {
  const { looking, owners, sync, deliveries, takeUnasked, now, newId } = deps
  return {
    async test(accountId, id) {
      const subscription = await findOwn(deps, accountId, id)
      requireNotStopped(subscription)
      const opened = await openSubscription(owners, subscription)
      await takeUnasked('test', accountId, opened.url)
      const target = { url: opened.url, secrets: signingAt(opened, now()), form: subscription.form }
      const [event = 'trade_call'] = currentFilter(subscription).events
      return sendSample(deps, target, event)
    },
    async checkSignature(accountId, id, { timestamp, signature, body }) {
      const opened = await openSubscription(owners, await findOwn(deps, accountId, id))
      const verified = verifyWebhook({
        secret: opened.secrets.map(({ secret }) => secret),
        headers: { 'x-service-timestamp': timestamp, 'x-service-signature': signature },
        body,
        // When it came is for the receiver to judge, who was there.
        now: Number(timestamp) * 1_000,
      })
      return verified.ok ? undefined : verified.reason
    },
    async replay(accountId, id, asked, origin) {
      const own = await findOwn(deps, accountId, id)
      const { open: tried } = await deliveries.load(own)
      const numbers = await findWindow(looking, id, asked, tried)
      const replayId = newId()
      await executeFor(deps, accountId, id, origin, async (state) => {
        const { cursor, finishedAbove, open, replays } = await deliveries.load(state)
        const given = [cursor.sequence - 1, ...finishedAbove.keys(), ...open.keys()]
        return {
          kind: 'RequestReplay',
          replayId,
          ...numbers,
          newest: given.reduce((newest, one) => Math.max(newest, one), 0),
          isDone: (one, toSequence) => sentThrough({ replays }, one) >= toSequence,
        }
      })
      return { replayId, ...numbers }
    },
    async cancelReplay(accountId, id, replayId, origin) {
      const subscription = await executeFor(deps, accountId, id, origin, async (state) => {
        const known = state.replays.find((one) => one.replayId === replayId)
        const through = sentThrough(await deliveries.load(state), replayId)
        return { kind: 'CancelReplay', replayId, isDone: known !== undefined && through >= known.toSequence }
      })
      await sync(id)
      return viewOf(deps, subscription)
    },
  }
}

function operating(deps: SubscriptionDeps): Pick<Subscriptions, 'listAll' | 'showAny' | 'stop' | 'allow'> {
  const { log, index, sync } = deps
  const findAny = async (id: string): Promise<Subscription> => {
    const subscription = await log.load(id)
    if (subscription !== undefined && subscription.state !== 'removed') return subscription
    throw new ServiceError('subscription_unknown', { message: `There is no subscription ${id}.` })
  }
  const execute = async (id: string, command: SubscriptionCommand, origin: Origin) => {
    const { after } = await log.execute(id, origin, (state) =>
      decideSubscription({ subscriptionId: id }, command, state),
    )
    await sync(id)
    if (after === undefined) throw unknownSubscriptionError(id)
    return operatorViewOf(deps, after)
  }
  return {
    async listAll({ after, limit }) {
      if (index?.position() === undefined) {
        throw new ServiceError('store_unavailable', {
          message: 'The read model of subscriptions does not follow the log at the moment.',
          isForCallers: true,
        })
      }
      const page = index.page({ after, limit: Math.min(limit, LIMITS.webhookRows) })
      return mapConcurrently(page, READS_AT_ONCE, (subscription) => operatorViewOf(deps, subscription))
    },
    showAny: async (id) => {
      const subscription = await findAny(id)
      const view = await operatorViewOf(deps, subscription)
      return { ...view, lag: await lagOf(deps, subscription, view.deliveries) }
    },
    stop: (id, reason, origin) => execute(id, { kind: 'Stop', reason }, origin),
    allow: (id, reason, origin) => execute(id, { kind: 'Allow', reason }, origin),
  }
}
