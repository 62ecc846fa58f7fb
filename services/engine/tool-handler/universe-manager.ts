import type { Exchange, Universe } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent, UniverseRanked } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { universeStream } from '../../../contracts/events/streams.ts'
import type { NewEvent, Revision } from '../../../contracts/infra/event.ts'
import { type AppendPath, RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'

export interface UniverseManagerOptions {
  /** Ranks the coins of an exchange as they are now. */
  readonly rank: (exchange: Exchange) => Promise<Universe>
  readonly store: EventStore
  readonly newId: () => string
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  /** Ends after some milliseconds, or at once when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** Told when an exchange cannot be ranked, or its ranking not be recorded; once until it works again. */
  readonly onProblem: (exchange: Exchange, error: ServiceError) => void
}

/** The rankings of exchanges by size, each recorded before it is used. */
export type UniverseManager = ReturnType<typeof createUniverseManager>

/** Interval between checks of market time, and pause after a failure of an exchange; wall clock. */
const LOOK_EVERY_MS = 1_000
const RETRY_AFTER_MS = 30_000

/** Age from which a ranking is renewed when it is asked for; market time. */
const OLD_AFTER_MS = 2 * HOUR_MS

/** The end of the stream of an exchange. */
interface Head {
  readonly revision: Revision | 'no-stream'
  readonly universe: Universe | undefined
}

interface State {
  head: Head | undefined
  renewing: Promise<Universe> | undefined
  problem: string | undefined
}

const UNKNOWN = {
  what: 'the ranking of an exchange was recorded',
  again: 'The next try reads what became of it.',
}

/** Several engines may rank the same exchanges over one log: the first one in an hour ranks for all. */
export function createUniverseManager(options: UniverseManagerOptions) {
  const { rank, store, newId, clock, sleep, onProblem } = options
  // The append policy ends it after seconds: a caller that asks for a ranking has no signal.
  const patient = new AbortController()
  const path = { store, policy: RETRY_FOR_CALLER, now: clock, sleep, signal: patient.signal }
  const states = new Map<Exchange, State>()

  function stateOf(exchange: Exchange): State {
    const nothing = { head: undefined, renewing: undefined, problem: undefined }
    const state = states.get(exchange) ?? nothing
    states.set(exchange, state)
    return state
  }

  async function renew(exchange: Exchange, state: State): Promise<Universe> {
    try {
      state.head ??= await readHead(store, exchange)
      const universe = await record(path, newId, state, await rank(exchange))
      state.problem = undefined
      return universe
    } catch (error) {
      const problem = rankingError(exchange, error)
      if (state.problem === undefined) onProblem(exchange, problem)
      state.problem = problem.message
      throw problem
    } finally {
      state.renewing = undefined
    }
  }

  /** One renewal at a time: those who ask meanwhile share it. */
  function renewOnce(exchange: Exchange): Promise<Universe> {
    const state = stateOf(exchange)
    return (state.renewing ??= renew(exchange, state))
  }

  async function runOne(exchange: Exchange, signal: AbortSignal): Promise<void> {
    let rankedHour: number | undefined
    while (!signal.aborted) {
      const hour = hourOf(clock())
      let waitMs = LOOK_EVERY_MS
      if (hour !== rankedHour) {
        try {
          await renewOnce(exchange)
          rankedHour = hour
        } catch (error) {
          if (!isServiceError(error)) throw error
          waitMs = RETRY_AFTER_MS
        }
      }
      await sleep(waitMs, signal)
    }
  }

  return {
    /**
     * Ranks exchanges now and at every full hour of market time, until the signal. Resolves when it ends; errors are
     * reported to `onProblem`, and the work is repeated.
     */
    async run(exchanges: readonly Exchange[], signal: AbortSignal): Promise<void> {
      await Promise.all(exchanges.map((exchange) => runOne(exchange, signal)))
    },
    /**
     * The newest ranking; makes one where there is none, or where `run` does not renew it.
     *
     * @throws ServiceError `unknown_exchange`, `venue_unavailable`; those of the store
     */
    async of(exchange: Exchange): Promise<Universe> {
      const state = stateOf(exchange)
      const known = state.head?.universe
      // `run` renews it every hour, and tries again after a failure of the venue.
      const isOld = known !== undefined && clock() - known.rankedAt > OLD_AFTER_MS
      if (known !== undefined && (!isOld || state.problem !== undefined)) return known
      try {
        return await renewOnce(exchange)
      } catch (error) {
        const recorded = stateOf(exchange).head?.universe
        if (recorded === undefined) throw error
        return recorded
      }
    },
    newest: (exchange: Exchange): Universe | undefined => states.get(exchange)?.head?.universe,
    /** The reason for which the ranking of an exchange cannot be renewed now. */
    problem: (exchange: Exchange): string | undefined => states.get(exchange)?.problem,
  }
}

/** Appends a ranking unless another engine did meanwhile, and answers the one that holds. */
async function record(
  path: AppendPath,
  newId: () => string,
  state: State,
  ranked: Universe,
): Promise<Universe> {
  let known = state.head
  const stream = universeStream(ranked.exchange)
  const { before, appended } = await executeCommand<Head, undefined>(path, {
    stream,
    async load() {
      const head = known ?? (await readHead(path.store, ranked.exchange))
      known = undefined
      return { state: head, revision: head.revision }
    },
    decide: ({ universe: last }) => ({
      events: last === undefined || isNews(ranked, last) ? [rankedEvent(ranked, newId())] : [],
      result: undefined,
    }),
    unknown: UNKNOWN,
  })
  const head = appended === undefined ? before : { revision: appended.revision, universe: ranked }
  state.head = head
  return head.universe ?? ranked
}

const hourOf = (instant: number): number => Math.floor(instant / HOUR_MS)

/** A ranking stands for its hour, unless coins came or went; one of an earlier time is no news at all. */
const isNews = (ranked: Universe, last: Universe): boolean =>
  ranked.rankedAt >= last.rankedAt &&
  (hourOf(ranked.rankedAt) > hourOf(last.rankedAt) || !hasSameCoins(ranked, last))

const rankedEvent = (ranked: Universe, id: string): NewEvent =>
  newEvent(UniverseRanked, {
    id,
    data: ranked,
    meta: { correlationId: `universe ${ranked.exchange} ${ranked.rankedAt}`, actor: 'engine' },
  })

function hasSameCoins(a: Universe, b: Universe): boolean {
  const names = new Set(a.coins.map(({ coin }) => coin))
  return a.coins.length === b.coins.length && b.coins.every(({ coin }) => names.has(coin))
}

/** The newest ranking in the log, for who ranks nothing itself; undefined where nobody has. */
export const recordedUniverse = async (
  store: Pick<EventStore, 'read'>,
  exchange: Exchange,
): Promise<Universe | undefined> => (await readHead(store, exchange)).universe

async function readHead(store: Pick<EventStore, 'read'>, exchange: Exchange): Promise<Head> {
  for await (const recorded of store.read(universeStream(exchange), { direction: 'backwards', limit: 1 })) {
    const event = decodeEvent(recorded)
    const universe = event.type === 'UniverseRanked' ? event.data : undefined
    return { revision: recorded.revision, universe }
  }
  return { revision: 'no-stream', universe: undefined }
}

const rankingError = (exchange: Exchange, error: unknown): ServiceError =>
  isServiceError(error)
    ? error
    : new ServiceError('venue_unavailable', {
        message: `the coins of ${exchange} could not be ranked: ${reasonOf(error)}`,
        details: { exchange },
        cause: error,
      })
