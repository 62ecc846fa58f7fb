import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Subscription } from '../../../projections/index.ts'
import { mapInTurns } from '../../platform/async/map-in-turns.ts'
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
  unknownSubscription,
} from './decide-subscription.ts'
import { filterWarnings } from './filter-warnings.ts'
import { resolveStart } from './find-position.ts'
import { findWindow } from './find-window.ts'
import { createKnownDeliveries } from './known-deliveries.ts'
import { createNotifyOwner } from './notify-owner.ts'
import type { Origin } from './owner-accounts.ts'
import { closeViewOf, findOwn, lagOf, operatorViewOf, viewOf } from './read-subscription.ts'
import { sendSample } from './send-sample.ts'
import { createSubscriptionLog } from './subscription-log.ts'
import type { Subscriptions } from './subscription-operations.ts'
import type { SubscriptionParts, SubscriptionsOptions } from './subscription-parts.ts'
import { openAnswers, openSubscription, signingAt } from './subscription-secrets.ts'
import { removeFormer, removeOrphans, tidySlot } from './tidy-slots.ts'

/**
 * Subscriptions over the log. From now on those of erased accounts are removed, until the signal.
 *
 * @example const subscriptions = createSubscriptions({ store, owners, sender, sign, deliveries, settle, … })
 */
export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const deliveries = createKnownDeliveries(options.store)
  const parts: SubscriptionParts = { ...options, deliveries, log: createSubscriptionLog(options) }
  const running = removeOrphans(parts).catch((error: unknown) =>
    options.report('removing subscriptions of erased accounts has stopped', { reason: reasonOf(error) }),
  )
  return {
    create: (accountId, request, { idempotencyKey }, origin) =>
      createSubscription(parts, accountId, request, idempotencyKey, origin),
    ...reading(parts),
    ...changing(parts),
    ...sending(parts),
    ...operating(parts),
    positionOf: (field, text) => resolveStart(options.looking, field, text, options.now()),
    warnings: (subscription) => filterWarnings(currentFilter(subscription), options.reach()),
    notify: createNotifyOwner(parts),
    removeErased: (accountId) => removeFormer(parts, accountId),
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

function reading(parts: SubscriptionParts): Pick<Subscriptions, 'list' | 'show' | 'find' | 'openAttempts'> {
  const { log, owners } = parts
  return {
    async list(accountId, { status, after, limit }) {
      const { current } = await owners.slots(accountId)
      const all: Subscription[] = []
      for (const slot of current) {
        const subscription = await log.load(slot.subscriptionId)
        if (subscription !== undefined && subscription.state !== 'removed') all.push(subscription)
        else await tidySlot(parts, accountId, slot, TIDYING)
      }
      const wanted = all
        .filter((one) => status === 'all' || isOut(one) === (status === 'disabled'))
        .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
        .filter((subscription) => after === undefined || placeOf(subscription) > after)
      const page = wanted.slice(0, limit)
      const last = page.at(-1)
      return {
        rows: await mapInTurns(page, READS_AT_ONCE, (subscription) => viewOf(parts, subscription)),
        next: last !== undefined && page.length < wanted.length ? placeOf(last) : null,
        needsReview: all.filter(isOut).length,
      }
    },
    show: async (accountId, subscriptionId) =>
      closeViewOf(parts, await findOwn(parts, accountId, subscriptionId)),
    find: (accountId, subscriptionId) => findOwn(parts, accountId, subscriptionId),
    async openAttempts(subscription, attempts) {
      const isAccepting = hasAccepted(await parts.deliveries.load(subscription))
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
  parts: SubscriptionParts,
): Pick<Subscriptions, 'test' | 'checkSignature' | 'replay' | 'cancelReplay'> {
  const { looking, owners, settle, deliveries, takeUnasked, now, newId } = parts
  return {
    async test(accountId, id) {
      const subscription = await findOwn(parts, accountId, id)
      requireNotStopped(subscription)
      const opened = await openSubscription(owners, subscription)
      await takeUnasked('test', accountId, opened.url)
      const target = { url: opened.url, secrets: signingAt(opened, now()), form: subscription.form }
      const [event = 'trade_call'] = currentFilter(subscription).events
      return sendSample(parts, target, event)
    },
    async checkSignature(accountId, id, { timestamp, signature, body }) {
      const opened = await openSubscription(owners, await findOwn(parts, accountId, id))
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
      const own = await findOwn(parts, accountId, id)
      const { open: tried } = await deliveries.load(own)
      const numbers = await findWindow(looking, id, asked, tried)
      const replayId = newId()
      await executeFor(parts, accountId, id, origin, async (state) => {
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
      const subscription = await executeFor(parts, accountId, id, origin, async (state) => {
        const known = state.replays.find((one) => one.replayId === replayId)
        const through = sentThrough(await deliveries.load(state), replayId)
        return { kind: 'CancelReplay', replayId, isDone: known !== undefined && through >= known.toSequence }
      })
      await settle(id)
      return viewOf(parts, subscription)
    },
  }
}

function operating(parts: SubscriptionParts): Pick<Subscriptions, 'listAll' | 'showAny' | 'stop' | 'allow'> {
  const { log, index, settle } = parts
  const findAny = async (id: string): Promise<Subscription> => {
    const subscription = await log.load(id)
    if (subscription !== undefined && subscription.state !== 'removed') return subscription
    throw new ServiceError('subscription_unknown', { message: `There is no subscription ${id}.` })
  }
  const execute = async (id: string, command: SubscriptionCommand, origin: Origin) => {
    const { after } = await log.execute(id, origin, (state) =>
      decideSubscription({ subscriptionId: id }, command, state),
    )
    await settle(id)
    if (after === undefined) throw unknownSubscription(id)
    return operatorViewOf(parts, after)
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
      return mapInTurns(page, READS_AT_ONCE, (subscription) => operatorViewOf(parts, subscription))
    },
    showAny: async (id) => {
      const subscription = await findAny(id)
      const view = await operatorViewOf(parts, subscription)
      return { ...view, lag: await lagOf(parts, subscription, view.deliveries) }
    },
    stop: (id, reason, origin) => execute(id, { kind: 'Stop', reason }, origin),
    allow: (id, reason, origin) => execute(id, { kind: 'Allow', reason }, origin),
  }
}
