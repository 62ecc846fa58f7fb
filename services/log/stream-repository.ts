import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { NewEvent, RecordedEvent } from '../../contracts/infra/event.ts'
import { RecentMap } from '../runtime/cache/recent-map.ts'
import type { AppendPath, UnknownOutcome } from './append-with-retry.ts'
import { type Decision, type Executed, executeCommand, type Loaded } from './command-handler.ts'

/** The kind that an event counts as, and how many of the kind one hour of a stream takes. */
export interface HourlyLimit {
  /** As callers read it, in the plural. */
  readonly kind: string
  /** `Infinity` for what always passes. */
  readonly perHour: number
}

type Countable = Pick<NewEvent, 'type' | 'data'>
export type LimitOf = (event: Countable) => HourlyLimit

export interface StreamRepositoryOptions<State> extends AppendPath {
  readonly streamOf: (id: string) => string
  readonly initial: State
  /** @throws ServiceError `event_unreadable` */
  readonly evolve: (state: State, event: RecordedEvent) => State
  /** Streams whose newest state is cached, so that only what came since is read. */
  readonly keep: number
  /** How many events an hour of a stream takes; as many as come without it. */
  readonly limitOf?: LimitOf
}

/** How much of each kind the newest hour of a stream has; hours are counted since 1970. */
interface HourlyCounts {
  readonly hour: number
  readonly counts: ReadonlyMap<string, number>
}

interface Cached<State> extends Loaded<State> {
  readonly hourly: HourlyCounts
}

/** States that are folds over one stream each. */
export type StreamRepository<State> = ReturnType<typeof createStreamRepository<State>>

export function createStreamRepository<State>(options: StreamRepositoryOptions<State>) {
  const { store, streamOf, initial, evolve, keep, limitOf, now } = options
  const cache = new RecentMap<string, Cached<State>>(keep)
  const nothing: Cached<State> = {
    state: initial,
    revision: 'no-stream',
    hourly: { hour: 0, counts: new Map() },
  }

  async function load(id: string): Promise<Cached<State>> {
    let { state, revision, hourly }: Cached<State> = cache.get(id) ?? nothing
    const from = revision === 'no-stream' ? 0 : revision + 1
    let next = from
    for await (const event of store.read(streamOf(id), { from })) {
      // EventStoreDB begins at the end where there is nothing from here on.
      if (event.revision < from) continue
      assert(event.revision === next, 'a state is folded from each event of its stream once', event.revision)
      next += 1
      state = evolve(state, event)
      revision = event.revision
      if (limitOf !== undefined) hourly = countEvent(hourly, limitOf(event), Date.parse(event.at))
    }
    const loaded = { state, revision, hourly }
    if (revision === 'no-stream') cache.delete(id)
    else cache.set(id, loaded)
    return loaded
  }

  return {
    /** The newest state, other processes' events included. */
    async load(id: string): Promise<Loaded<State>> {
      const { state, revision } = await load(id)
      return { state, revision }
    },
    /**
     * Decides over the newest state and records what follows, anew if somebody else was quicker; durable when it
     * resolves. The errors are those of {@link executeCommand}, and `rate_limited` past what an hour takes.
     */
    execute<Result>(
      id: string,
      decide: (state: State) => Promise<Decision<Result>> | Decision<Result>,
      unknown: UnknownOutcome,
    ): Promise<Executed<State, Result>> {
      let { hourly } = nothing
      return executeCommand(options, {
        stream: streamOf(id),
        async load() {
          const loaded = await load(id)
          hourly = loaded.hourly
          return loaded
        },
        async decide(state) {
          const decision = await decide(state)
          if (limitOf !== undefined) requireWithinHour(hourly, decision.events.map(limitOf), now())
          return decision
        },
        unknown,
      })
    },
  }
}

/** Counts an event in its hour, unless its kind has no limit. @param at time of recording, Unix milliseconds */
function countEvent(before: HourlyCounts, { kind, perHour }: HourlyLimit, at: number): HourlyCounts {
  if (perHour === Number.POSITIVE_INFINITY) return before
  // A clock that was set back begins no new hour.
  const hour = Math.max(Math.floor(at / HOUR_MS), before.hour)
  const counts = new Map(hour > before.hour ? [] : before.counts)
  return { hour, counts: counts.set(kind, (counts.get(kind) ?? 0) + 1) }
}

/**
 * Refuses events that a stream takes no more of within this hour. @throws ServiceError `rate_limited` with
 * `details.retry_after_s`
 */
function requireWithinHour(before: HourlyCounts, limits: readonly HourlyLimit[], now: number): void {
  let after = before
  for (const limit of limits) {
    after = countEvent(after, limit, now)
    const { kind, perHour } = limit
    if ((after.counts.get(kind) ?? 0) <= perHour) continue
    const seconds = Math.max(1, Math.ceil(((after.hour + 1) * HOUR_MS - now) / 1_000))
    throw new ServiceError('rate_limited', {
      message: `One hour takes ${perHour} ${kind} here, and this one has no room for more; nothing was recorded. The next hour begins in ${seconds} s.`,
      details: { kind, limit: perHour, retry_after_s: seconds },
    })
  }
}
