import { decodeEvent, eventOf } from '../../../contracts/events/event-catalogue.ts'
import { subscriptionStream } from '../../../contracts/events/streams.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  appendedOr,
  appendWithRetry,
  type LogUse,
  RETRY_FOR_CALLER,
  type UnknownOutcome,
} from '../../log/append-with-retry.ts'
import { createStreamRepository, type LimitOf } from '../../log/stream-repository.ts'
import { evolveSubscription, type Subscription } from '../state/subscription-state.ts'
import type { SubscriptionFact } from './decide-subscription.ts'

export type SubscriptionLog = ReturnType<typeof createSubscriptionLog>

/**
 * How many events an hour a subscription takes: changes by its owner together. Events that end something always pass,
 * and so do those that the operator or the endpoint causes.
 */
export const PER_HOUR: Readonly<Record<SubscriptionFact['type'], number>> = {
  SubscriptionCreated: Number.POSITIVE_INFINITY, // once in a stream; its slot is counted with the account
  SubscriptionChanged: LIMITS.subscriptionChangesPerHour,
  EndpointChanged: LIMITS.subscriptionChangesPerHour,
  SecretRotated: LIMITS.subscriptionChangesPerHour,
  SubscriptionPaused: LIMITS.subscriptionChangesPerHour,
  SubscriptionResumed: LIMITS.subscriptionChangesPerHour,
  SubscriptionDisabled: Number.POSITIVE_INFINITY,
  SubscriptionAllowed: Number.POSITIVE_INFINITY,
  SubscriptionRemoved: Number.POSITIVE_INFINITY,
  RecoveryRequested: LIMITS.subscriptionChangesPerHour,
}

const limitOf: LimitOf = ({ type }) => ({
  kind: 'changes of a subscription',
  perHour: (PER_HOUR as Readonly<Record<string, number>>)[type] ?? Number.POSITIVE_INFINITY,
})

const UNKNOWN: UnknownOutcome = {
  what: 'the subscription was changed',
  again: '`GET /api/webhooks` shows whether it happened.',
}

/** The streams of subscriptions. */
export function createSubscriptionLog(options: LogUse) {
  const { newId } = options
  const path = { ...options, policy: RETRY_FOR_CALLER }
  const repository = createStreamRepository<Subscription | undefined>({
    ...path,
    streamOf: subscriptionStream,
    initial: undefined,
    evolve: (state, recorded) => evolveSubscription(state, decodeEvent(recorded)),
    keep: LIMITS.subscriptionsKept,
    limitOf,
  })
  /** The newest state, other processes' events included; undefined for one that was never created. */
  const load = async (subscriptionId: string): Promise<Subscription | undefined> =>
    (await repository.load(subscriptionId)).state

  return {
    load,
    /**
     * Decides over the newest state and appends the facts, again where another append came first.
     *
     * @returns the state before and after; the facts are durable
     * @throws ServiceError those of `decide`, and of the store
     */
    async execute(
      subscriptionId: string,
      origin: Origin,
      decide: (
        state: Subscription | undefined,
      ) => Promise<readonly SubscriptionFact[]> | readonly SubscriptionFact[],
    ): Promise<{ readonly before: Subscription | undefined; readonly after: Subscription | undefined }> {
      const { before, appended } = await repository.execute(
        subscriptionId,
        async (state) => {
          const facts = await decide(state)
          return {
            events: facts.map((fact) => eventOf(fact, { id: newId(), meta: { ...origin } })),
            result: undefined,
          }
        },
        UNKNOWN,
      )
      return { before, after: appended === undefined ? before : await load(subscriptionId) }
    },
    /** Begins a stream with one event. @returns false where it has begun before, and not with this event */
    async begin(
      subscriptionId: string,
      origin: Origin,
      fact: SubscriptionFact,
      eventId: string,
    ): Promise<boolean> {
      const stream = subscriptionStream(subscriptionId)
      const events = [eventOf(fact, { id: eventId, meta: { ...origin } })]
      const outcome = await appendWithRetry(path, { stream, events, expected: 'no-stream' })
      // The same event with other bytes in it (sealing never gives the same twice) is the same request.
      return appendedOr(outcome, UNKNOWN) !== undefined
    },
  }
}
