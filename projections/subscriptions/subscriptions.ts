import type { JsonObject } from '../../contracts/json.ts'
import type { Projection } from '../projection.ts'
import { evolveSubscription, type Subscription } from './subscription-state.ts'

/** A subscription that is not removed. Key: {@link subscriptionRowKey}. */
export interface SubscriptionRow extends JsonObject {
  readonly kind: 'subscription'
  readonly subscription: Subscription
}

/** That an account has a subscription. Key: {@link accountSubscriptionPrefix}, then the id. */
export interface AccountSubscriptionRow extends JsonObject {
  readonly kind: 'place'
  readonly subscriptionId: string
}

export type SubscriptionsRow = SubscriptionRow | AccountSubscriptionRow

export const SUBSCRIPTION_PREFIX = 'subscription/'
export const subscriptionRowKey = (subscriptionId: string): string =>
  `${SUBSCRIPTION_PREFIX}${subscriptionId}`
export const accountSubscriptionPrefix = (accountId: string): string => `account/${accountId}/`

/**
 * Every subscription that is not removed, as its stream tells it, by id and by account: so that a process that
 * begins need not look through the whole log for them. Addresses and secrets stay sealed.
 */
export const subscriptions: Projection<SubscriptionsRow> = {
  name: 'subscriptions',
  version: 1,
  changes: 'rows',
  events: [
    'SubscriptionCreated',
    'SubscriptionChanged',
    'SecretRotated',
    'SubscriptionPaused',
    'SubscriptionResumed',
    'SubscriptionDegraded',
    'SubscriptionRecovered',
    'SubscriptionDisabled',
    'SubscriptionRemoved',
    'ReplayRequested',
  ],
  fold(rows, event) {
    if (!('subscriptionId' in event.data)) return
    const { subscriptionId } = event.data
    const row = rows.get(subscriptionRowKey(subscriptionId))
    const before = row?.kind === 'subscription' ? row.subscription : undefined
    const after = evolveSubscription(before, event)
    // What was removed before it was created never is.
    if (after === undefined || after === before) return
    const placeKey = `${accountSubscriptionPrefix(after.accountId)}${subscriptionId}`
    if (after.state === 'removed') {
      rows.delete(subscriptionRowKey(subscriptionId))
      rows.delete(placeKey)
      return
    }
    rows.put(subscriptionRowKey(subscriptionId), { kind: 'subscription', subscription: after })
    if (before === undefined) rows.put(placeKey, { kind: 'place', subscriptionId })
  },
}
