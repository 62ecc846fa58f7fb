import type { Origin } from '../../../contracts/event.ts'
import { decodeEvent, eventOf } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { subscriptionStream } from '../../../contracts/streams.ts'
import { evolveSubscription, type Subscription } from '../../../projections/index.ts'
import {
  appendedOr,
  appendUntilKnown,
  CALLER_WAITS,
  type UnknownOutcome,
} from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createStreamRepository, type LimitOf } from '../../log/stream-repository.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { SubscriptionFact } from './decide-subscription.ts'

export interface SubscriptionLogOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: Pick<EventStore, 'read' | 'append'>
  readonly newId: () => string
  /** Ends all waiting. */
  readonly signal: AbortSignal
}

/** The streams of subscriptions. */
export interface SubscriptionLog {
  /** The newest state, other processes' events included; undefined for one that was never created. */
  load(subscriptionId: string): Promise<Subscription | undefined>
  /** Whether anything is in the stream, also where that is only that it must not be created any more. */
  begins(subscriptionId: string): Promise<{ readonly firstEventId: string } | undefined>
  /**
   * Decides over the newest state and records what happens, anew where somebody else was quicker.
   *
   * @param id of the first event; a fresh one without it
   * @returns the state before and after; what was recorded is durable.
   * @throws ServiceError those of `decide`, and of the store
   */
  execute(
    subscriptionId: string,
    origin: Origin,
    decide: (
      state: Subscription | undefined,
    ) => Promise<readonly SubscriptionFact[]> | readonly SubscriptionFact[],
  ): Promise<{ readonly before: Subscription | undefined; readonly after: Subscription | undefined }>
  /**
   * Begins a stream with one event.
   *
   * @returns false where it has begun before, and not with this event
   */
  begin(subscriptionId: string, origin: Origin, fact: SubscriptionFact, eventId: string): Promise<boolean>
}

/**
 * How many events an hour of a subscription takes: changes by its owner together, and deliveries sent again. What ends something always passes,
 * and so does what the operator or the endpoint
 * brings about.
 */
export const PER_HOUR: Readonly<Record<SubscriptionFact['type'], number>> = {
  SubscriptionCreated: Number.POSITIVE_INFINITY, // once in a stream; its slot is counted with the account
  SubscriptionChanged: LIMITS.subscriptionChangesPerHour,
  SecretRotated: LIMITS.subscriptionChangesPerHour,
  SecretOverlapEnded: Number.POSITIVE_INFINITY,
  SubscriptionPaused: LIMITS.subscriptionChangesPerHour,
  SubscriptionResumed: LIMITS.subscriptionChangesPerHour,
  SubscriptionDisabled: Number.POSITIVE_INFINITY,
  SubscriptionAllowed: Number.POSITIVE_INFINITY,
  SubscriptionRemoved: Number.POSITIVE_INFINITY,
  ReplayRequested: LIMITS.replayedDeliveriesPerHour,
  ReplayCancelled: Number.POSITIVE_INFINITY,
}

/** So that as many replays are taken as other changes, however little each sends again. */
const LEAST_OF_REPLAY = LIMITS.replayedDeliveriesPerHour / LIMITS.subscriptionChangesPerHour

const limitOf: LimitOf = ({ type, data: { fromSequence, toSequence, deliveries } }) => {
  const perHour = (PER_HOUR as Readonly<Record<string, number>>)[type] ?? Number.POSITIVE_INFINITY
  if (type !== 'ReplayRequested') return { kind: 'changes of a subscription', perHour }
  // Schema 1 sent all of its window.
  const sent = Number(deliveries ?? Number(toSequence) - Number(fromSequence) + 1)
  return { kind: 'deliveries to be sent again', perHour, weight: Math.max(sent, LEAST_OF_REPLAY) }
}

const UNKNOWN: UnknownOutcome = {
  what: 'the subscription was changed',
  again:
    'A creation with an Idempotency-Key can be sent again as it was; before anything else is, `GET /api/webhooks/:id` shows whether it happened.',
}

export function createSubscriptionLog(options: SubscriptionLogOptions): SubscriptionLog {
  const { store, newId } = options
  const path = { ...options, policy: CALLER_WAITS }
  const repository = createStreamRepository<Subscription | undefined>({
    ...path,
    streamOf: subscriptionStream,
    initial: undefined,
    evolve: (state, recorded) => evolveSubscription(state, decodeEvent(recorded)),
    keep: LIMITS.subscriptionsKept,
    limitOf,
  })
  const load = async (subscriptionId: string): Promise<Subscription | undefined> =>
    (await repository.load(subscriptionId)).state

  return {
    load,
    async begins(subscriptionId) {
      let firstEventId: string | undefined
      for await (const { id } of store.read(subscriptionStream(subscriptionId), { limit: 1 }))
        firstEventId = id
      return firstEventId === undefined ? undefined : { firstEventId }
    },
    async execute(subscriptionId, origin, decide) {
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
    async begin(subscriptionId, origin, fact, eventId) {
      const stream = subscriptionStream(subscriptionId)
      const events = [eventOf(fact, { id: eventId, meta: { ...origin } })]
      const outcome = await appendUntilKnown(path, { stream, events, expected: 'no-stream' })
      // The same event with other bytes in it (sealing never gives the same twice) is the same request.
      return appendedOr(outcome, UNKNOWN) !== undefined
    },
  }
}
