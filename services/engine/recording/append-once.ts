import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { type ErrorCode, isServiceError, type ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent, type ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import type { NewEvent, Revision } from '../../../contracts/infra/event.ts'
import type { AppendPath, RetryPolicy, UnknownOutcome } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'

export interface RetrierOptions extends Pick<Clock, 'sleep'> {
  readonly signal: AbortSignal
  /** Called when work begins to wait for the store, and again every ten minutes. */
  readonly onProblem?: (error: ServiceError) => void
}

/** Repeats work that fails for a passing reason. */
export type Retrier = ReturnType<typeof createRetrier>

/** An append is decided again after a minute, because its content may depend on the time. */
const POLICY: RetryPolicy = { refusedMs: 60_000, unknownMs: 60_000, pausesMs: [50, 200, 1_000] }
/** Tries between two reminders: ten minutes. */
const TRIES_PER_REMINDER = 600
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'store_unavailable',
  'store_full',
  'outcome_unknown',
])

export const UNKNOWN: UnknownOutcome = { what: 'this was recorded', again: 'It is recorded again.' }

export function createRetrier({ sleep, signal, onProblem }: RetrierOptions) {
  let problem: string | undefined
  function note(error: ServiceError, tries: number): void {
    if (problem === undefined || tries % TRIES_PER_REMINDER === TRIES_PER_REMINDER - 1) onProblem?.(error)
    problem = error.message
  }

  return {
    /** How its work writes to a store. */
    path(store: EventStore): AppendPath {
      let tries = 0
      // Pauses alone end a try, so that a clock which is set changes nothing.
      return {
        store,
        policy: POLICY,
        now: () => 0,
        sleep,
        signal,
        onFailure: (error) => note(error, tries++),
      }
    },
    /** The outcome of work on the store, however long the store is unavailable. Once the signal is aborted, failures are thrown. */
    async waitOut<Value>(work: () => Promise<Value>): Promise<Value> {
      for (let tries = 0; ; tries++) {
        try {
          const value = await work()
          problem = undefined
          return value
        } catch (error) {
          if (!isServiceError(error) || !PASSING.has(error.code) || signal.aborted) throw error
          note(error, tries)
          await sleep(POLICY.pausesMs[Math.min(tries, POLICY.pausesMs.length - 1)] ?? 0, signal)
        }
      }
    },
    /** Why work waits now. */
    problem: () => problem,
  }
}

/** A fact about one bar of a series; there is one of its kind per bar. */
export interface BarFact {
  /** Close of the bar, Unix milliseconds. */
  readonly barClose: number
}

/** One append: where it stands in its stream, and whether this process made it. */
export interface Appended<Fact> {
  readonly facts: readonly Fact[]
  readonly first: Revision
  readonly last: Revision
  /** False where the log had the very same append from another process. */
  readonly isOurs: boolean
}

/** The end of the stream of a series. */
export interface StreamEnd<Fact> {
  readonly revision: Revision | 'no-stream'
  readonly newest: Fact | undefined
}

export interface AppendOnceOptions<Draft extends BarFact, Fact extends BarFact> {
  readonly store: EventStore
  readonly retrier: Retrier
  readonly streamOf: (series: Series) => string
  /** @param before the fact in front of it, where there is one. */
  readonly factOf: (series: Series, draft: Draft, before: Fact | undefined) => Fact
  /** @param before the fact in front of the first one, where there is one. */
  readonly eventsOf: (facts: readonly Fact[], before: Fact | undefined) => NewEvent[]
  /** The fact in an event of the stream; undefined for an event that stands beside one. */
  readonly readFact: (event: ServiceEvent) => Fact | undefined
  readonly factsPerAppend: number
}

/** Facts of many series, each in a stream of its own, in the order of their bars. */
export interface AppendOnce<Draft extends BarFact, Fact extends BarFact> {
  /**
   * Appends facts of one series, oldest first, each once: those at or before the newest one in the log add nothing, no
   * matter which process appended them. Resolves when all are durable; waits out a store that is away. Calls for one
   * series are made one after the other.
   */
  append(series: Series, drafts: readonly Draft[]): Promise<Appended<Fact>[]>
  /** The end of a series' stream as last seen; undefined before anything was appended. */
  end(series: Series): StreamEnd<Fact> | undefined
  /** The end of a series' stream, with what others appended; waits out a store that is away. */
  look(series: Series): Promise<StreamEnd<Fact>>
  /** Forgets a series. */
  release(series: Series): void
}

/** The newest fact of a bar is the newest event of its stream, or the one before it. */
const EVENTS_PER_FACT = 2

export function createAppendOnce<Draft extends BarFact, Fact extends BarFact>(
  options: AppendOnceOptions<Draft, Fact>,
): AppendOnce<Draft, Fact> {
  const { store, retrier, streamOf, factOf, eventsOf, readFact, factsPerAppend } = options
  const ends = new Map<string, StreamEnd<Fact>>()

  async function readEnd(series: Series): Promise<StreamEnd<Fact>> {
    let revision: StreamEnd<Fact>['revision'] = 'no-stream'
    const read = { direction: 'backwards', limit: EVENTS_PER_FACT } as const
    for await (const recorded of store.read(streamOf(series), read)) {
      if (revision === 'no-stream') revision = recorded.revision
      const newest = readFact(decodeEvent(recorded))
      if (newest !== undefined) return { revision, newest }
    }
    return { revision, newest: undefined }
  }

  /** Cached over failures, so that a retry is the same append. */
  async function endOf(series: Series): Promise<StreamEnd<Fact>> {
    const name = seriesName(series)
    const end = ends.get(name) ?? (await readEnd(series))
    ends.set(name, end)
    return end
  }

  /** The end of the stream in the log, not the cached one. */
  function readAgain(series: Series): Promise<StreamEnd<Fact>> {
    ends.delete(seriesName(series))
    return endOf(series)
  }

  /** Appends the facts that are not in the log yet; another process may have appended some, with other content. */
  async function appendChunk(series: Series, drafts: readonly Draft[]): Promise<Appended<Fact>[]> {
    let wasUnknown = false
    async function attempt(): Promise<Appended<Fact>[]> {
      let loads = 0
      const { result: facts, appended } = await executeCommand<StreamEnd<Fact>, readonly Fact[]>(
        retrier.path(store),
        {
          stream: streamOf(series),
          async load() {
            const state = await (loads++ === 0 ? endOf(series) : readAgain(series))
            return { state, revision: state.revision }
          },
          decide({ newest }) {
            const made = factsAfter(newest, drafts, (draft, before) => factOf(series, draft, before))
            return { events: eventsOf(made, newest), result: made }
          },
          unknown: UNKNOWN,
        },
      )
      if (appended === undefined) return []
      const { revision, isOurs } = appended
      ends.set(seriesName(series), { revision, newest: facts.at(-1) })
      return [{ facts, first: revision - facts.length + 1, last: revision, isOurs: isOurs || wasUnknown }]
    }
    return retrier.waitOut(() =>
      attempt().catch((error: unknown) => {
        wasUnknown ||= isServiceError(error, 'outcome_unknown')
        throw error
      }),
    )
  }

  return {
    async append(series, drafts) {
      const appended: Appended<Fact>[] = []
      for (let index = 0; index < drafts.length; index += factsPerAppend) {
        appended.push(...(await appendChunk(series, drafts.slice(index, index + factsPerAppend))))
      }
      return appended
    },
    end: (series) => ends.get(seriesName(series)),
    look: (series) => retrier.waitOut(() => readAgain(series)),
    release: (series) => void ends.delete(seriesName(series)),
  }
}

/** The facts of the drafts that are newer than the newest one, in the order of bars. */
function factsAfter<Draft extends BarFact, Fact extends BarFact>(
  newest: Fact | undefined,
  drafts: readonly Draft[],
  factOf: (draft: Draft, before: Fact | undefined) => Fact,
): Fact[] {
  const made: Fact[] = []
  for (const draft of drafts) {
    if (newest !== undefined && draft.barClose <= newest.barClose) continue
    const before = made.at(-1) ?? newest
    const isNext = before === undefined || draft.barClose > before.barClose
    assert(isNext, 'a bar of a series is recorded once, in the order of bars', draft.barClose)
    made.push(factOf(draft, before))
  }
  return made
}
