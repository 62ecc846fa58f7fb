import type { Tier } from '../../../../contracts/domain/plans.ts'
import { decodeEvent } from '../../../../contracts/events/event-catalogue.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { evolveSubscription, SUBSCRIPTION_EVENTS, type Subscription } from '../../state/subscription-state.ts'
import type { DeliveryTarget, SubscriptionDirectory } from '../dispatcher-options.ts'

/** Subscriptions as the log tells them, whose addresses, secrets and answers are never sealed. */
export function createLogDirectory(
  store: EventStore,
  tier: Tier = 'pro',
  mailbox?: string,
): SubscriptionDirectory {
  return {
    async all() {
      const position = await store.head()
      const found = new Map<string, Subscription>()
      for await (const recorded of store.readAll({
        upTo: position,
        filter: { types: SUBSCRIPTION_EVENTS },
      })) {
        const event = decodeEvent(recorded)
        if (!('subscriptionId' in event.data)) continue
        const after = evolveSubscription(found.get(event.data.subscriptionId), event)
        if (after !== undefined) found.set(event.data.subscriptionId, after)
      }
      return { position, subscriptions: [...found.values()].filter(({ state }) => state !== 'removed') }
    },
    target: ({ sealedUrl, secrets, accountId }): DeliveryTarget => ({
      url: sealedUrl,
      tier,
      countedAs: mailbox ?? accountId,
      secrets: secrets.map(({ sealed }) => sealed),
      sealAnswer: (text) => `unsealed ${text}`,
    }),
  }
}
