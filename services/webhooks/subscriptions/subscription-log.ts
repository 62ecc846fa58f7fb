import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, Revision } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { subscriptionStream } from '../../../contracts/streams.ts'
import {
  ReplayRequested,
  SecretOverlapEnded,
  SecretRotated,
  SubscriptionAllowed,
  SubscriptionChanged,
  SubscriptionCreated,
  SubscriptionDisabled,
  SubscriptionPaused,
  SubscriptionRemoved,
  SubscriptionResumed,
} from '../../../contracts/subscription-events.ts'
import { evolveSubscription, type Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { SubscriptionFact } from './decide-subscription.ts'
import type { Origin } from './owner-accounts.ts'

export interface SubscriptionLogOptions {
  readonly store: Pick<EventStore, 'read' | 'append'>
  readonly newId: () => string
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
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

const DEFINITIONS: Readonly<Record<SubscriptionFact['type'], EventDefinition>> = {
  SubscriptionCreated,
  SubscriptionChanged,
  SecretRotated,
  SecretOverlapEnded,
  SubscriptionPaused,
  SubscriptionResumed,
  SubscriptionDisabled,
  SubscriptionAllowed,
  SubscriptionRemoved,
  ReplayRequested,
}

interface Known {
  readonly state: Subscription | undefined
  readonly revision: Revision | 'no-stream'
}

/** Lost races after which something is wrong: each was lost to an event that is in the log now. */
const MOST_RACES = 64
const RETRY_MS = [20, 100, 400] as const

export function createSubscriptionLog({
  store,
  newId,
  sleep,
  signal,
}: SubscriptionLogOptions): SubscriptionLog {
  const known = new Map<string, Known>()

  function remember(subscriptionId: string, now: Known): Known {
    known.delete(subscriptionId)
    if (now.revision === 'no-stream') return now
    known.set(subscriptionId, now)
    const [oldest] = known.keys()
    if (known.size > LIMITS.subscriptionsKept && oldest !== undefined) known.delete(oldest)
    return now
  }

  async function loadKnown(subscriptionId: string): Promise<Known> {
    const remembered = known.get(subscriptionId)
    let { state, revision }: Known = remembered ?? { state: undefined, revision: 'no-stream' }
    const from = revision === 'no-stream' ? 0 : revision + 1
    for await (const recorded of store.read(subscriptionStream(subscriptionId), { from, signal })) {
      // EventStoreDB begins at the end where there is nothing from here on.
      if (recorded.revision < from) continue
      state = evolveSubscription(state, decodeEvent(recorded))
      revision = recorded.revision
    }
    return remember(subscriptionId, { state, revision })
  }

  /** Repeats the very same append while its outcome is unknown: safe, and the only way to learn it. */
  async function append(
    subscriptionId: string,
    events: readonly NewEvent[],
    expected: Known['revision'],
  ): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        await store.append(subscriptionStream(subscriptionId), events, { expected })
        return
      } catch (error) {
        const wait = RETRY_MS[tries]
        const isPassing =
          isServiceError(error, 'append_unknown') || isServiceError(error, 'store_unavailable')
        if (!isPassing || wait === undefined || signal.aborted) throw error
        await sleep(wait, signal)
      }
    }
  }

  const eventOf = ({ type, data }: SubscriptionFact, id: string, origin: Origin): NewEvent =>
    newEvent(DEFINITIONS[type], { id, data, meta: { ...origin } })

  return {
    load: async (subscriptionId) => (await loadKnown(subscriptionId)).state,
    async begins(subscriptionId) {
      let firstEventId: string | undefined
      for await (const { id } of store.read(subscriptionStream(subscriptionId), { limit: 1 }))
        firstEventId = id
      return firstEventId === undefined ? undefined : { firstEventId }
    },
    async execute(subscriptionId, origin, decide) {
      for (let races = 0; races < MOST_RACES; races++) {
        const { state: before, revision } = await loadKnown(subscriptionId)
        const facts = await decide(before)
        if (facts.length === 0) return { before, after: before }
        const events = facts.map((fact) => eventOf(fact, newId(), origin))
        try {
          await append(subscriptionId, events, revision)
        } catch (error) {
          if (isServiceError(error, 'revision_conflict')) continue
          throw error
        }
        return { before, after: (await loadKnown(subscriptionId)).state }
      }
      throw new ServiceError('store_unavailable', {
        message: `subscription ${subscriptionId} changed ${MOST_RACES} times while it was to be changed; nothing was done`,
      })
    },
    async begin(subscriptionId, origin, fact, eventId) {
      try {
        await append(subscriptionId, [eventOf(fact, eventId, origin)], 'no-stream')
        return true
      } catch (error) {
        // The same event with other bytes in it (sealing never gives the same twice) is the same request.
        if (isServiceError(error, 'revision_conflict') || isServiceError(error, 'idempotency_conflict')) {
          return false
        }
        throw error
      }
    },
  }
}
