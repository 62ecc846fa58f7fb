import type { RecordedEvent } from '../../../contracts/event.ts'
import { RecentMap } from '../cache/recent-map.ts'
import type { AppendPath, UnknownOutcome } from './append-until-known.ts'
import { type Decision, type Executed, executeCommand, type Loaded } from './execute-command.ts'
import { countEvent, type HourlyCounts, type LimitOf, NO_COUNTS, requireWithinHour } from './hourly-counts.ts'

export interface StreamRepositoryOptions<State> extends AppendPath {
  readonly streamOf: (id: string) => string
  readonly initial: State
  /** @throws ServiceError `event_unreadable` */
  readonly evolve: (state: State, event: RecordedEvent) => State
  /** Streams whose newest state is kept, so that only what came since is read. */
  readonly keep: number
  /** How many events an hour of a stream takes; as many as come without it. */
  readonly limitOf?: LimitOf
}

interface Kept<State> extends Loaded<State> {
  readonly counts: HourlyCounts
}

/** States that are folds over one stream each. */
export interface StreamRepository<State> {
  /** The newest state, other processes' events included. */
  load(id: string): Promise<Loaded<State>>
  /**
   * Decides over the newest state and records what follows, anew where somebody else was quicker; durable when it
   * resolves. The errors are those of {@link executeCommand}, and `rate_limited` past what an hour takes.
   */
  execute<Result>(
    id: string,
    decide: (state: State) => Promise<Decision<Result>> | Decision<Result>,
    unknown: UnknownOutcome,
  ): Promise<Executed<State, Result>>
}

/**
 * @example
 * const accounts = createStreamRepository({ store, policy: CALLER_WAITS, streamOf: accountStream, initial, evolve, … })
 * await accounts.execute(id, (state) => ({ events: decide(command, state), result: undefined }), unknown)
 */
export function createStreamRepository<State>(
  options: StreamRepositoryOptions<State>,
): StreamRepository<State> {
  const { store, streamOf, initial, evolve, keep, limitOf, now } = options
  const kept = new RecentMap<string, Kept<State>>(keep)

  const nothing: Kept<State> = { state: initial, revision: 'no-stream', counts: NO_COUNTS }

  function remember(id: string, loaded: Kept<State>): void {
    if (loaded.revision === 'no-stream') kept.delete(id)
    else kept.set(id, loaded)
  }

  async function load(id: string): Promise<Kept<State>> {
    const before = kept.get(id)
    let { state, revision, counts }: Kept<State> = before ?? nothing
    const from = revision === 'no-stream' ? 0 : revision + 1
    for await (const event of store.read(streamOf(id), { from })) {
      // EventStoreDB begins at the end where there is nothing from here on.
      if (event.revision < from) continue
      state = evolve(state, event)
      revision = event.revision
      if (limitOf !== undefined) counts = countEvent(counts, event, Date.parse(event.at), limitOf)
    }
    const loaded = { state, revision, counts }
    remember(id, loaded)
    return loaded
  }

  return {
    async load(id) {
      const { state, revision } = await load(id)
      return { state, revision }
    },
    execute(id, decide, unknown) {
      let { counts } = nothing
      return executeCommand(options, {
        stream: streamOf(id),
        async load() {
          const loaded = await load(id)
          counts = loaded.counts
          return loaded
        },
        async decide(state) {
          const decision = await decide(state)
          if (limitOf !== undefined) requireWithinHour(counts, decision.events, now(), limitOf)
          return decision
        },
        unknown,
      })
    },
  }
}
