import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Board, BoardEntry } from '../board.ts'

/**
 * Follows a series until the signal: loads its history, records its verdicts, and keeps its entry on the
 * board. Resolves after it has ended, and rejects when it cannot go on.
 */
export type Follow = (series: Series, signal: AbortSignal) => Promise<void>

export interface OnDemandSeriesOptions extends Pick<Clock, 'now'> {
  readonly board: Board
  readonly follow: Follow
  /** Whether an entry says all that it will say for now: a verdict, or that there are too few bars. */
  readonly isSettled: (entry: BoardEntry) => boolean
  /** Ends after some milliseconds, or at once when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** Ends everything that is followed. */
  readonly signal: AbortSignal
  /** Told when following a series failed, whether or not somebody waits for it. */
  readonly onFailure: (series: Series, error: ServiceError) => void
  readonly mostSeries?: number
  readonly mostPerAsker?: number
}

/** Follows series because somebody asks for them, and for a while after. */
export interface OnDemandSeries {
  /** Says that a series was asked for, so that it is kept if it is followed on demand. */
  touch(series: Series): void
  /**
   * Begins to follow a series, unless it is followed already. When the limit is reached, the least recently requested
   * series of the caller that holds the most is evicted, so that a few callers cannot keep the others out.
   *
   * @param asker the caller it is followed for; a caller without a name has no share of its own and evicts nobody
   * @throws ServiceError `too_many_series`, `shutting_down`
   */
  keep(series: Series, asker?: string): void
  /**
   * The board's entry of a series as soon as it has settled; what there is when the time is over.
   *
   * @param deadline wall clock, Unix milliseconds
   * @throws ServiceError what following it failed with; `shutting_down`
   */
  settled(series: Series, deadline: number): Promise<BoardEntry | undefined>
  /** Ends what is followed on demand of some series, for somebody else who follows them. Resolves when it has ended. */
  release(series: readonly Series[]): Promise<void>
  /** How many are followed on demand. */
  count(): number
  /** Resolves when nothing is followed any more, which the signal brings about. */
  ended(): Promise<void>
}

/** Interval between checks of the board for a series that is loading. */
const LOOK_EVERY_MS = 25

/** A series that is followed, or is being ended. */
interface Kept {
  readonly series: Series
  /** Because of whom it was first followed. */
  readonly asker: string
  readonly stopping: AbortController
  /** Resolves when it has ended; never rejects. */
  done: Promise<void>
  askedAt: number
  hasEnded: boolean
  /** Whether somebody else follows it from then on, so that it is still worth waiting for. */
  isReleased: boolean
  failure: ServiceError | undefined
}

/**
 * @example
 * onDemand.keep(series)
 * const entry = await onDemand.settled(series, now() + LIMITS.onDemandWaitMs)
 */
export function createOnDemandSeries(options: OnDemandSeriesOptions): OnDemandSeries {
  const { board, follow, isSettled, now, sleep, signal, onFailure } = options
  const { mostSeries = LIMITS.seriesOnDemand, mostPerAsker = LIMITS.seriesOnDemandPerPayer } = options
  const kept = new Map<string, Kept>()
  /** Series that were stopped and have not ended: a series must not be followed twice at a time. */
  const leaving = new Map<string, Kept>()
  const work = new Set<Promise<unknown>>()

  function track<Value>(promise: Promise<Value>): Promise<Value> {
    const tracked = promise.finally(() => work.delete(tracked))
    work.add(tracked)
    return tracked
  }

  async function run(one: Kept, before: Kept | undefined): Promise<void> {
    if (before !== undefined) await before.done
    try {
      if (!one.stopping.signal.aborted) await follow(one.series, one.stopping.signal)
    } catch (error) {
      if (!one.stopping.signal.aborted) one.failure = followingError(one.series, error)
    }
    one.hasEnded = true
    const name = seriesName(one.series)
    for (const group of [kept, leaving]) if (group.get(name) === one) group.delete(name)
    if (one.failure !== undefined) onFailure(one.series, one.failure)
    // Nobody counts the time of a series that is not followed any more.
    one.stopping.abort()
  }

  /** Ends a series some time after it was last asked for. */
  async function expire(one: Kept): Promise<void> {
    while (!one.stopping.signal.aborted) {
      const left = one.askedAt + LIMITS.onDemandKeepMs - now()
      if (left > 0) {
        await sleep(left, one.stopping.signal)
        continue
      }
      stop(one)
    }
  }

  function stop(one: Kept): void {
    const name = seriesName(one.series)
    leaving.set(name, one)
    kept.delete(name)
    one.stopping.abort()
  }

  /** Whether there is room for a further series of an asker, which may have to be made. */
  function makeRoom(asker: string): boolean {
    if (kept.size + leaving.size < mostSeries) return true
    // What was stopped ends soon; it must not be stopped without end.
    if (asker === '' || leaving.size >= mostSeries) return false
    const counts = new Map<string, number>()
    for (const one of kept.values()) counts.set(one.asker, (counts.get(one.asker) ?? 0) + 1)
    const [largest, count] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0])
    if (count <= (counts.get(asker) ?? 0) + 1) return false
    const theirs = [...kept.values()].filter((one) => one.asker === largest)
    stop(theirs.reduce((a, b) => (b.askedAt < a.askedAt ? b : a)))
    return true
  }

  function begin(series: Series, asker: string): void {
    const name = seriesName(series)
    const stopping = new AbortController()
    const nothing = { hasEnded: false, isReleased: false, failure: undefined, done: Promise.resolve() }
    const one: Kept = { series, asker, stopping, askedAt: now(), ...nothing }
    kept.set(name, one)
    one.done = track(run(one, leaving.get(name)))
    void track(expire(one))
  }

  const stopAll = (): void => {
    for (const one of kept.values()) one.stopping.abort()
  }
  signal.addEventListener('abort', stopAll, { once: true })

  return {
    touch(series) {
      const one = kept.get(seriesName(series))
      if (one !== undefined) one.askedAt = now()
    },

    keep(series, asker = '') {
      if (signal.aborted) throw new ServiceError('shutting_down')
      const one = kept.get(seriesName(series))
      if (one !== undefined) {
        one.askedAt = now()
        return
      }
      const own = [...kept.values()].filter((other) => other.asker === asker).length
      if (asker !== '' && own >= mostPerAsker) throw tooManyOfOneError(series, mostPerAsker)
      if (!makeRoom(asker)) throw tooManyError(series, mostSeries)
      begin(series, asker)
    },

    async settled(series, deadline) {
      const one = kept.get(seriesName(series))
      for (;;) {
        const entry = board.get(series)
        if (entry !== undefined && isSettled(entry)) return entry
        if (one?.failure !== undefined) throw one.failure
        if (signal.aborted) throw new ServiceError('shutting_down')
        const left = deadline - now()
        if (left <= 0 || (one?.hasEnded === true && !one.isReleased)) return entry
        await sleep(Math.min(LOOK_EVERY_MS, left), signal)
      }
    },

    async release(series) {
      const names = series.map(seriesName)
      for (const name of names) {
        const one = kept.get(name)
        if (one === undefined) continue
        one.isReleased = true
        stop(one)
      }
      await Promise.all(names.map((name) => leaving.get(name)?.done ?? Promise.resolve()))
    },

    count: () => kept.size,

    async ended() {
      while (work.size > 0) await Promise.all(work)
    },
  }
}

function followingError(series: Series, error: unknown): ServiceError {
  if (isServiceError(error)) return error
  return new ServiceError('venue_unavailable', {
    message: `${seriesName(series)} could not be loaded: ${reasonOf(error)}`,
    details: { series: seriesName(series) },
    cause: error,
  })
}

const tooManyOfOneError = (series: Series, most: number): ServiceError =>
  new ServiceError('too_many_series', {
    message: `${seriesName(series)} is not monitored, and ${most} series are followed for you on demand already`,
    details: { series: seriesName(series), limit: most, per: 'payer' },
  })

const tooManyError = (series: Series, most: number): ServiceError =>
  new ServiceError('too_many_series', {
    message: `${seriesName(series)} is not monitored, and ${most} series are followed on demand already`,
    details: { series: seriesName(series), limit: most },
  })
