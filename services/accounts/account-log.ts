import type { ServiceError } from '../../contracts/errors/errors.ts'
import { AccountOpened } from '../../contracts/events/account-events.ts'
import { decodeEventOf, EVENT_CATALOGUE, eventOf } from '../../contracts/events/event-catalogue.ts'
import { accountStream } from '../../contracts/events/streams.ts'
import type { Origin, RecordedEvent } from '../../contracts/infra/event.ts'
import type { Position } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { accounts } from '../../projections/index.ts'
import { type LogUse, RETRY_FOR_CALLER, type UnknownOutcome } from '../log/append-with-retry.ts'
import { createStreamRepository, type LimitOf } from '../log/stream-repository.ts'
import { type AccountFact, type AccountState, evolve, initialState } from './account-state.ts'
import { type AnyCommand, decideAny } from './oauth/decide-apps.ts'

export interface AccountLogOptions extends LogUse {
  /** Told of each change that the read model of accounts shows, before anybody is answered. */
  readonly onChange: (accountId: string, position: Position) => void
}

/**
 * How many events of each kind an hour of an account takes. What ends something always passes: it is bounded by what
 * began, and an owner whose key was stolen must be able to revoke it. So does what was paid for.
 */
export const PER_HOUR: Readonly<Record<AccountFact['type'], number>> = {
  AccountOpened: Number.POSITIVE_INFINITY, // with a SignInConfirmed, or by the operator
  AccountErased: Number.POSITIVE_INFINITY,
  SignInRequested: Number.POSITIVE_INFINITY, // anybody may ask: `signInsOpen` bounds it without a refusal
  SignInConfirmed: LIMITS.accountEventsPerHour,
  KeyIssued: LIMITS.accountEventsPerHour,
  KeyRevoked: Number.POSITIVE_INFINITY,
  SessionsEnded: Number.POSITIVE_INFINITY, // none without a sign-in since the one before
  PlanStarted: Number.POSITIVE_INFINITY, // by a payment, or by the operator
  PlanEnded: Number.POSITIVE_INFINITY,
  SubscriptionSlotTaken: LIMITS.webhookCreationsPerHour,
  SubscriptionSlotFreed: Number.POSITIVE_INFINITY,
  OwnerMailed: LIMITS.noticeMailsPerHour,
  AppAuthorized: LIMITS.accountEventsPerHour,
  AppTokenIssued: LIMITS.accountEventsPerHour, // of each program
  AppEnded: Number.POSITIVE_INFINITY,
}

/** Tokens are limited per program, so that one program cannot use up the limit of another. */
const limitOf: LimitOf = ({ type, data }) => ({
  kind: type === 'AppTokenIssued' ? `tokens of program ${data['grantId'] as string}` : `events ${type}`,
  perHour: PER_HOUR[type as AccountFact['type']],
})

const UNKNOWN: UnknownOutcome = {
  what: 'the account was changed',
  again:
    'What was asked for with a payment can be sent again as it was; before anything else is, `GET /api/account` shows whether it happened.',
}

export type AccountLog = ReturnType<typeof createAccountLog>

/** The streams of accounts. */
export function createAccountLog(options: AccountLogOptions) {
  const { newId, onChange } = options
  const repository = createStreamRepository<AccountState>({
    ...options,
    policy: RETRY_FOR_CALLER,
    streamOf: accountStream,
    initial: initialState,
    evolve: (state, recorded) => evolve(state, factOf(recorded), Date.parse(recorded.at)),
    keep: LIMITS.accountsKept,
    limitOf,
  })

  return {
    /** The newest state, other processes' events included. */
    load: async (accountId: string) => (await repository.load(accountId)).state,
    /**
     * Decides a command over the newest state and records what happens, anew where somebody else was quicker.
     *
     * @param commandOf makes the command for the state that it is decided on
     * @returns the state before, and what was recorded; durable.
     * @throws ServiceError those of {@link decideAny} and {@link executeCommand}; `rate_limited`
     */
    async execute(
      accountId: string,
      origin: Origin,
      commandOf: (state: AccountState) => Promise<readonly AnyCommand[]> | readonly AnyCommand[],
    ) {
      const { before, result, appended } = await repository.execute(
        accountId,
        async (state) => {
          const decided = decideAll(accountId, await commandOf(state), state)
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

/** Decides each command over the state after those before it; the first refusal is thrown after recording. */
function decideAll(accountId: string, commands: readonly AnyCommand[], before: AccountState) {
  const facts: AccountFact[] = []
  let refusal: ServiceError | undefined
  let state = before
  for (const command of commands) {
    const decision = decideAny(accountId, command, state)
    facts.push(...decision.facts)
    state = decision.facts.reduce((next, fact) => evolve(next, fact, 0), state)
    refusal ??= decision.refusal
  }
  return { facts, refusal }
}

const TYPES = Object.values(EVENT_CATALOGUE)
  .filter(({ stream }) => stream === AccountOpened.stream)
  .map(({ type }) => type as AccountFact['type'])

const factOf = (recorded: RecordedEvent): AccountFact => decodeEventOf(recorded, ...TYPES)
