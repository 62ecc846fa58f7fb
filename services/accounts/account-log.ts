import { AccountOpened } from '../../contracts/account-events.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Origin, RecordedEvent } from '../../contracts/event.ts'
import { decodeEvent, EVENT_CATALOGUE, eventOf } from '../../contracts/event-catalogue.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import { accountStream } from '../../contracts/streams.ts'
import { accounts } from '../../projections/index.ts'
import type { Clock } from '../platform/async/clock.ts'
import { CALLER_WAITS, type UnknownOutcome } from '../platform/event-store/append-until-known.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import { createStreamRepository } from '../platform/event-store/stream-repository.ts'
import { type AccountFact, type AccountState, initialState } from './account-state.ts'
import type { AccountCommand, AccountRules } from './decide-account.ts'
import type { AppCommand } from './oauth/decide-apps.ts'

export interface AccountLogOptions<Command> extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  readonly rules: AccountRules<Command>
  readonly newId: () => string
  /** Ends all waiting. */
  readonly signal: AbortSignal
  /** Told of each change that the read model of accounts shows, before anybody is answered. */
  readonly onChange: (accountId: string, position: Position) => void
}

/** The streams of accounts. */
export interface AccountLog<Command = AccountCommand | AppCommand> {
  /** The newest state, other processes' events included. */
  load(accountId: string): Promise<AccountState>
  /**
   * Decides a command over the newest state and records what happens, anew where somebody else was quicker.
   *
   * @param commandOf makes the command for the state that it is decided on
   * @returns the state before, and what was recorded; durable.
   * @throws ServiceError those of {@link AccountRules.decide} and {@link executeCommand}
   */
  execute(
    accountId: string,
    origin: Origin,
    commandOf: (state: AccountState) => Promise<readonly Command[]> | readonly Command[],
  ): Promise<{ readonly before: AccountState; readonly facts: readonly AccountFact[] }>
}

const UNKNOWN: UnknownOutcome = {
  what: 'the account was changed',
  again:
    'What was asked for with a payment can be sent again as it was; before anything else is, `GET /api/account` shows whether it happened.',
}

export function createAccountLog<Command>(options: AccountLogOptions<Command>): AccountLog<Command> {
  const { newId, onChange, rules } = options
  const repository = createStreamRepository<AccountState>({
    ...options,
    policy: CALLER_WAITS,
    streamOf: accountStream,
    initial: initialState,
    evolve: (state, recorded) => rules.evolve(state, factOf(recorded), Date.parse(recorded.at)),
    keep: LIMITS.accountsKept,
  })

  return {
    load: async (accountId) => (await repository.load(accountId)).state,
    async execute(accountId, origin, commandOf) {
      const { before, result, appended } = await repository.execute(
        accountId,
        async (state) => {
          const decided = decideAll(rules, accountId, await commandOf(state), state)
          const events = decided.facts.map((fact) => eventOf(fact, { id: newId(), meta: { ...origin } }))
          return { events, result: decided }
        },
        UNKNOWN,
      )
      const { facts, refusal } = result
      // Waiting for a position that the read model takes no event of could take long.
      const last: string = facts.at(-1)?.type ?? ''
      if (appended !== undefined && (accounts.events as readonly string[]).includes(last))
        onChange(accountId, appended.position)
      if (refusal !== undefined) throw refusal
      return { before, facts }
    },
  }
}

/** Each command over what those in front of it came to; the first refusal is thrown once everything is recorded. */
function decideAll<Command>(
  rules: AccountRules<Command>,
  accountId: string,
  commands: readonly Command[],
  before: AccountState,
) {
  const facts: AccountFact[] = []
  let refusal: ServiceError | undefined
  let state = before
  for (const command of commands) {
    const decision = rules.decide(accountId, command, state)
    facts.push(...decision.facts)
    state = decision.facts.reduce((next, fact) => rules.evolve(next, fact, 0), state)
    refusal ??= decision.refusal
  }
  return { facts, refusal }
}

function factOf(recorded: RecordedEvent): AccountFact {
  const event = decodeEvent(recorded)
  if (EVENT_CATALOGUE[event.type].stream === AccountOpened.stream) return event as AccountFact
  throw new ServiceError('event_unreadable', {
    message: `The stream ${recorded.stream} holds a ${recorded.type} at revision ${recorded.revision}.`,
  })
}
