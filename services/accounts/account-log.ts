import {
  AccountErased,
  AccountOpened,
  KeyIssued,
  KeyRevoked,
  PlanEnded,
  PlanStarted,
  SignInConfirmed,
  SignInFailed,
  SignInRequested,
} from '../../contracts/account-events.ts'
import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { EventMeta, NewEvent, RecordedEvent, Revision } from '../../contracts/event.ts'
import { decodeEvent } from '../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../contracts/event-definition.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import { accountStream } from '../../contracts/streams.ts'
import { SubscriptionSlotFreed, SubscriptionSlotTaken } from '../../contracts/subscription-events.ts'
import { accounts } from '../../projections/index.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import { type AccountFact, type AccountState, evolve, initialState } from './account-state.ts'
import { type AccountCommand, decide } from './decide-account.ts'

/** On whose behalf something happens. */
export type Origin = Pick<EventMeta, 'correlationId' | 'actor'>

export interface AccountLogOptions {
  readonly store: EventStore
  readonly newId: () => string
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Ends all waiting. */
  readonly signal: AbortSignal
  /** Told of each change that the read model of accounts shows, before anybody is answered. */
  readonly onChange: (accountId: string, position: Position) => void
}

/** The streams of accounts. */
export interface AccountLog {
  /** The newest state, other processes' events included. */
  load(accountId: string): Promise<AccountState>
  /**
   * Decides a command over the newest state and records what happens, anew where somebody else was quicker.
   *
   * @param commandOf makes the command for the state that it is decided on
   * @returns the state before, and what was recorded; durable.
   * @throws ServiceError those of {@link decide}, and of the store
   */
  execute(
    accountId: string,
    origin: Origin,
    commandOf: (state: AccountState) => Promise<readonly AccountCommand[]> | readonly AccountCommand[],
  ): Promise<{ readonly before: AccountState; readonly facts: readonly AccountFact[] }>
}

const DEFINITIONS: Readonly<Record<AccountFact['type'], EventDefinition>> = {
  AccountOpened,
  SignInRequested,
  SignInFailed,
  SignInConfirmed,
  KeyIssued,
  KeyRevoked,
  PlanStarted,
  PlanEnded,
  AccountErased,
  SubscriptionSlotTaken,
  SubscriptionSlotFreed,
}

interface Known {
  readonly state: AccountState
  readonly revision: Revision | 'no-stream'
}

/** Lost races after which something is wrong: each was lost to an event that is in the log now. */
const MOST_RACES = 64
const RETRY_MS = [20, 100, 400] as const

export function createAccountLog(options: AccountLogOptions): AccountLog {
  const { store, newId, sleep, signal, onChange } = options
  const known = new Map<string, Known>()

  function remember(accountId: string, now: Known): Known {
    known.delete(accountId)
    known.set(accountId, now)
    const [oldest] = known.keys()
    if (known.size > LIMITS.accountsKept && oldest !== undefined) known.delete(oldest)
    return now
  }

  async function loadKnown(accountId: string): Promise<Known> {
    let { state, revision } = known.get(accountId) ?? { state: initialState, revision: 'no-stream' as const }
    const from = revision === 'no-stream' ? 0 : revision + 1
    for await (const recorded of store.read(accountStream(accountId), { from, signal })) {
      // EventStoreDB begins at the end where there is nothing from here on.
      if (recorded.revision < from) continue
      state = evolve(state, factOf(recorded), Date.parse(recorded.at))
      revision = recorded.revision
    }
    return remember(accountId, { state, revision })
  }

  /** Repeats the very same append while its outcome is unknown: safe, and the only way to learn it. */
  async function append(accountId: string, events: readonly NewEvent[], expected: Known['revision']) {
    for (let tries = 0; ; tries++) {
      try {
        return await store.append(accountStream(accountId), events, { expected })
      } catch (error) {
        const wait = RETRY_MS[tries]
        const isPassing =
          isServiceError(error, 'append_unknown') || isServiceError(error, 'store_unavailable')
        if (!isPassing || wait === undefined || signal.aborted) throw error
        await sleep(wait, signal)
      }
    }
  }

  async function record(
    accountId: string,
    facts: readonly AccountFact[],
    origin: Origin,
    expected: Known['revision'],
  ): Promise<void> {
    if (facts.length === 0) return
    const events = facts.map(({ type, data }) =>
      newEvent(DEFINITIONS[type], { id: newId(), data, meta: { ...origin } }),
    )
    const { position } = await append(accountId, events, expected)
    // Waiting for a position that the read model takes no event of could take long.
    const last: string = facts.at(-1)?.type ?? ''
    if ((accounts.events as readonly string[]).includes(last)) onChange(accountId, position)
  }

  return {
    load: async (accountId) => (await loadKnown(accountId)).state,
    async execute(accountId, origin, commandOf) {
      for (let races = 0; races < MOST_RACES; races++) {
        const { state: before, revision } = await loadKnown(accountId)
        const facts: AccountFact[] = []
        let refusal: ServiceError | undefined
        let state = before
        for (const command of await commandOf(before)) {
          const decision = decide(accountId, command, state)
          facts.push(...decision.facts)
          state = decision.facts.reduce((next, fact) => evolve(next, fact, 0), state)
          refusal ??= decision.refusal
        }
        try {
          await record(accountId, facts, origin, revision)
        } catch (error) {
          if (isServiceError(error, 'revision_conflict')) continue
          throw error
        }
        if (refusal !== undefined) throw refusal
        return { before, facts }
      }
      throw new ServiceError('store_unavailable', {
        message: `account ${accountId} changed ${MOST_RACES} times while it was to be changed; nothing was done`,
      })
    },
  }
}

function factOf(recorded: RecordedEvent): AccountFact {
  const event = decodeEvent(recorded)
  if (Object.hasOwn(DEFINITIONS, event.type)) return event as AccountFact
  throw new ServiceError('event_unreadable', {
    message: `The stream ${recorded.stream} holds a ${recorded.type} at revision ${recorded.revision}.`,
  })
}
