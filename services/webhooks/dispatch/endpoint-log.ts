import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { subscriptionStream } from '../../../contracts/events/streams.ts'
import { SubscriptionDisabled } from '../../../contracts/events/subscription-events.ts'
import { appendWithRetry, type LogUse, RETRY_IN_BACKGROUND } from '../../log/append-with-retry.ts'
import { evolveSubscription, isSending, type Subscription } from '../state/subscription-state.ts'

export type EndpointLog = ReturnType<typeof createEndpointLog>

/** The streams of subscriptions, in which the dispatcher records that an endpoint is disabled. */
export function createEndpointLog(options: LogUse) {
  const { store, newId } = options
  const path = { ...options, policy: RETRY_IN_BACKGROUND }

  /** The subscription after everything that its stream has now. */
  async function newest(subscription: Subscription): Promise<Subscription> {
    let now = subscription
    const from = subscription.revision + 1
    for await (const recorded of store.read(subscriptionStream(subscription.subscriptionId), { from })) {
      now = evolveSubscription(now, decodeEvent(recorded)) ?? now
      // Not every event changes it; the next append must name the newest revision all the same.
      if (now.revision < recorded.revision) now = { ...now, revision: recorded.revision }
    }
    return now
  }

  return {
    newest,
    /**
     * Disables an endpoint, unless its owner stopped it or gave another address meanwhile.
     *
     * @returns the subscription as its stream has it now, and whether this call disabled it
     * @throws ServiceError of the store, once the signal is aborted
     */
    async disable(
      subscription: Subscription,
      reason: string,
    ): Promise<{ readonly subscription: Subscription; readonly isDisabled: boolean }> {
      const { subscriptionId, sealedUrl } = subscription
      const stream = subscriptionStream(subscriptionId)
      for (let now = subscription; ; now = await newest(now)) {
        if (!isSending(now) || now.sealedUrl !== sealedUrl) return { subscription: now, isDisabled: false }
        const data = { subscriptionId, reason, by: 'endpoint' as const }
        const meta = { correlationId: `subscription ${subscriptionId}`, actor: 'dispatcher' }
        const events = [newEvent(SubscriptionDisabled, { id: newId(), data, meta })]
        const outcome = await appendWithRetry(path, { stream, events, expected: now.revision })
        if (outcome.kind === 'refused' || outcome.kind === 'unknown') throw outcome.error
        if (outcome.kind === 'appended') return { subscription: await newest(now), isDisabled: true }
      }
    },
  }
}
