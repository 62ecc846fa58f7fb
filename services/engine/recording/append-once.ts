import { assert } from '../../../contracts/assert.ts'
import { type ErrorCode, isServiceError, type ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, Revision } from '../../../contracts/event.ts'
import { decodeEvent, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import {
  type AppendOutcome,
  appendWithRetry,
  type PendingAppend,
  RETRY_IN_BACKGROUND,
  type RetryPolicy,
} from '../../log/append-with-retry.ts'
import { pauseForOthers } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'

export interface RetrierOptions extends Pick<Clock, 'sleep'> {
  readonly signal: AbortSignal
  /** Told when work begins to wait for the store, and again every ten minutes. */
  readonly onProblem?: (error: ServiceError) => void
}

/** Repeats what fails for a reason that passes by itself. */
export interface Retrier {
  /**
   * The outcome of some work on the store, however long the store is away. Once the signal is aborted, what
   * the work fails with is thrown.
   */
  waitOut<Value>(work: () => Promise<Value>): Promise<Value>
  /**
   * Loads, decides and appends, however long the store is away. When another process was quicker, all of it is done
   * again after a pause.
   *
   * @returns undefined when nothing had to be appended
   * @throws ServiceError the refusal of the log; `idempotency_conflict` when the log has other content under an id
   *   that is still to be appended
   */
  record<State>(store: EventStore, command: Recording<State>): Promise<RecordedNow | undefined>
  /** The reason for which work waits now. */
  problem(): string | undefined
}

export interface Recording<State> {
  /** @param conflicts how many appends were lost to others so far */
  readonly load: (conflicts: number) => Promise<State>
  /**
   * Decides on a state. The append is made anew every minute until it is in the log: its content may depend on the time.
   *
   * @returns undefined when there is nothing to append
   */
  readonly decide: (state: State) => (() => PendingAppend) | undefined
}

/** An append that is in the log. */
type RecordedNow = Extract<AppendOutcome, { kind: 'appended' }>

const RETRY_MS = [50, 200, 1_000, 5_000, 15_000] as const
/** How soon one of those that wait asks again; the others hear of it. */
const PROBE_MS = 1_000
/** Tries of the probing caller between two reminders: ten minutes. */
const TRIES_PER_REMINDER = 600

/** Series are many, and each that waits would ask: the longer the store is away, the less often. */
const POLICY: RetryPolicy = {
  ...RETRY_IN_BACKGROUND,
  refusedMs: 60_000,
  unknownMs: 60_000,
  pausesMs: RETRY_MS,
}

export function createRetrier({ sleep, signal, onProblem }: RetrierOptions): Retrier {
  let problem: string | undefined
  /** Told when trouble begins, and again while it lasts; every series of a bar would repeat it. */
  function note(error: ServiceError, tries: number): void {
    if (problem === undefined || tries % TRIES_PER_REMINDER === TRIES_PER_REMINDER - 1) onProblem?.(error)
    problem = error.message
  }

  let isAskedFor = false
  let waking = new AbortController()

  /** Rests between tries. One of those that rest asks again soon, so that all go on as soon as the store is back. */
  async function rest(ms: number, until: AbortSignal): Promise<void> {
    if (isAskedFor) return sleep(ms, AbortSignal.any([until, waking.signal]))
    isAskedFor = true
    try {
      await sleep(Math.min(ms, PROBE_MS), until)
    } finally {
      isAskedFor = false
    }
  }

  function wentWell(): void {
    if (problem === undefined) return
    problem = undefined
    waking.abort()
    waking = new AbortController()
  }

  async function waitOut<Value>(work: () => Promise<Value>): Promise<Value> {
    for (let tries = 0; ; tries++) {
      try {
        const value = await work()
        wentWell()
        return value
      } catch (error) {
        if (!isPassing(error) || signal.aborted) throw error
        note(error, tries)
        await rest(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 15_000, signal)
      }
    }
  }

  /** Unknown, or refused for a reason that passes, only once the signal is aborted. */
  async function append(store: EventStore, make: () => PendingAppend): Promise<AppendOutcome> {
    let tries = 0
    const onFailure = (error: ServiceError): void => note(error, tries++)
    // The clock stands still: no time limit ends this wait.
    const path = { store, policy: POLICY, now: () => 0, sleep: rest, signal, onFailure }
    let wasUnknown = false
    for (;;) {
      const outcome = await appendWithRetry(path, make())
      if (outcome.kind === 'appended' || outcome.kind === 'conflict') wentWell()
      if (outcome.kind === 'appended') return { ...outcome, isOurs: outcome.isOurs || wasUnknown }
      wasUnknown ||= outcome.kind === 'unknown'
      const isAway = outcome.kind === 'unknown' || (outcome.kind === 'refused' && isPassing(outcome.error))
      if (!isAway || signal.aborted) return outcome
    }
  }

  return {
    waitOut,
    async record(store, { load, decide }) {
      const last: Refused = { id: undefined, refusal: undefined }
      for (let conflicts = 0; ; conflicts++) {
        if (conflicts > 0) await pauseForOthers({ sleep, signal }, conflicts)
        const make = decide(await waitOut(() => load(conflicts)))
        if (make === undefined) return undefined
        const outcome = await append(store, () => otherThan(last, make()))
        if (outcome.kind === 'appended') return outcome
        if (outcome.kind !== 'conflict') throw outcome.error
        last.refusal = outcome.error.code === 'idempotency_conflict' ? outcome.error : undefined
      }
    },
    problem: () => problem,
  }
}

/** The newest append that was tried, and why the log does not take it, if it has said so. */
interface Refused {
  id: string | undefined
  refusal: ServiceError | undefined
}

/** Notes an append that is tried. @throws the refusal of the one before, where it is the same again */
function otherThan(last: Refused, made: PendingAppend): PendingAppend {
  const id = made.events[0]?.id
  if (last.refusal !== undefined && last.id === id) throw last.refusal
  last.id = id
  return made
}

const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['store_unavailable', 'store_full'])
const isPassing = (error: unknown): error is ServiceError => isServiceError(error) && PASSING.has(error.code)

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
    let facts: Fact[] = []
    let first = 0
    const appended = await retrier.record(store, {
      load: (conflicts) => (conflicts > 0 ? readAgain(series) : endOf(series)),
      decide({ revision: expected, newest }) {
        const missing = drafts.filter((draft) => newest === undefined || draft.barClose > newest.barClose)
        if (missing.length === 0) return undefined
        first = expected === 'no-stream' ? 0 : expected + 1
        return () => {
          facts = []
          for (const draft of missing) {
            const before = facts.at(-1) ?? newest
            const isNext = before === undefined || draft.barClose > before.barClose
            assert(isNext, 'a bar of a series is recorded once, in the order of bars', draft.barClose)
            facts.push(factOf(series, draft, before))
          }
          return { stream: streamOf(series), events: eventsOf(facts, newest), expected }
        }
      },
    })
    if (appended === undefined) return []
    const { revision, isOurs } = appended
    ends.set(seriesName(series), { revision, newest: facts.at(-1) })
    return [{ facts, first, last: revision, isOurs }]
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
