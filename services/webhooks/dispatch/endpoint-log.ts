import type { NewEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { subscriptionStream } from '../../../contracts/streams.ts'
import {
  SubscriptionDegraded,
  SubscriptionDisabled,
  SubscriptionRecovered,
} from '../../../contracts/subscription-events.ts'
import { appendWithRetry, type LogUse, RETRY_IN_BACKGROUND } from '../../log/append-with-retry.ts'
import { evolveSubscription, type Subscription } from '../state/subscription-state.ts'
import type { Change } from './decide-attempt.ts'

export type EndpointLog = ReturnType<typeof createEndpointLog>

/** The streams of subscriptions, in which the dispatcher records what became of an endpoint. */
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

  /** False where another event has its place. */
  async function append(event: NewEvent, { subscriptionId, revision }: Subscription): Promise<boolean> {
    const stream = subscriptionStream(subscriptionId)
    const outcome = await appendWithRetry(path, { stream, events: [event], expected: revision })
    if (outcome.kind === 'refused' || outcome.kind === 'unknown') throw outcome.error
    return outcome.kind === 'appended'
  }

  return {
    newest,
    /**
     * Appends a fact after the newest event, if it still holds: changes that the owner made meanwhile come first.
     *
     * @returns the subscription as its stream has it now, whether that was appended or not
     * @throws ServiceError of the store, once the signal is aborted
     */
    async say(subscription: Subscription, fact: Change): Promise<Subscription> {
      for (let now = subscription; ; now = await newest(now)) {
        // A new address has not failed yet.
        if (!isStillSo(now, fact) || now.sealedUrl !== subscription.sealedUrl) return now
        if (await append(eventOf(now, fact, newId()), now)) return newest(now)
      }
    },
  }
}

/** Whether there is anything to say: a subscription that its owner stopped has no standing. */
function isStillSo({ state, reason }: Subscription, fact: Change): boolean {
  if (fact.kind === 'recovered') return state === 'degraded'
  if (fact.kind === 'disabled') return state === 'active' || state === 'degraded'
  return state === 'active' || (state === 'degraded' && reason !== fact.reason)
}

function eventOf({ subscriptionId }: Subscription, fact: Change, id: string): NewEvent {
  const meta = { correlationId: `subscription ${subscriptionId}`, actor: 'dispatcher' }
  if (fact.kind === 'recovered')
    return newEvent(SubscriptionRecovered, { id, data: { subscriptionId }, meta })
  const data = { subscriptionId, reason: fact.reason }
  return fact.kind === 'degraded'
    ? newEvent(SubscriptionDegraded, { id, data, meta })
    : newEvent(SubscriptionDisabled, { id, data: { ...data, by: 'endpoint' }, meta })
}
