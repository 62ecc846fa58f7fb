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

/** Follows series because somebody asks for them, and for a while after. */
export class OnDemandSeries {
  readonly #options: OnDemandSeriesOptions
  readonly #mostSeries: number
  readonly #mostPerAsker: number
  readonly #kept = new Map<string, Kept>()
  /** Series that were stopped and have not ended: a series must not be followed twice at a time. */
  readonly #leaving = new Map<string, Kept>()
  readonly #work = new Set<Promise<unknown>>()
  /** Series that callers wait for. */
  readonly #awaited = new Set<Series>()

  constructor(options: OnDemandSeriesOptions) {
    this.#options = options
    this.#mostSeries = this.#options.mostSeries ?? LIMITS.seriesOnDemand
    this.#mostPerAsker = this.#options.mostPerAsker ?? LIMITS.seriesOnDemandPerPayer
    this.#options.signal.addEventListener('abort', this.#stopAll, { once: true })
  }

  #track<Value>(promise: Promise<Value>): Promise<Value> {
    const tracked = promise.finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
    return tracked
  }

  async #run(one: Kept, before: Kept | undefined): Promise<void> {
    if (before !== undefined) await before.done
    try {
      if (!one.stopping.signal.aborted) await this.#options.follow(one.series, one.stopping.signal)
    } catch (error) {
      if (!one.stopping.signal.aborted) one.failure = followingError(one.series, error)
    }
    one.hasEnded = true
    const name = seriesName(one.series)
    for (const group of [this.#kept, this.#leaving]) if (group.get(name) === one) group.delete(name)
    if (one.failure !== undefined) this.#options.onFailure(one.series, one.failure)
    // Nobody counts the time of a series that is not followed any more.
    one.stopping.abort()
  }

  /** Ends a series some time after it was last asked for. */
  async #expire(one: Kept): Promise<void> {
    while (!one.stopping.signal.aborted) {
      const left = one.askedAt + LIMITS.onDemandKeepMs - this.#options.now()
      if (left > 0) {
        await this.#options.sleep(left, one.stopping.signal)
        continue
      }
      this.#stop(one)
    }
  }

  #stop(one: Kept): void {
    const name = seriesName(one.series)
    this.#leaving.set(name, one)
    this.#kept.delete(name)
    one.stopping.abort()
  }

  /** Whether there is room for a further series of an asker, which may have to be made. */
  #makeRoom(asker: string): boolean {
    if (this.#kept.size + this.#leaving.size < this.#mostSeries) return true
    // A stopped series ends soon; stopping more and more of them makes no room.
    if (asker === '' || this.#leaving.size >= this.#mostSeries) return false
    const counts = new Map<string, number>()
    for (const one of this.#kept.values()) counts.set(one.asker, (counts.get(one.asker) ?? 0) + 1)
    const [largest, count] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0])
    if (count <= (counts.get(asker) ?? 0) + 1) return false
    const theirs = [...this.#kept.values()].filter((one) => one.asker === largest)
    this.#stop(theirs.reduce((a, b) => (b.askedAt < a.askedAt ? b : a)))
    return true
  }

  #begin(series: Series, asker: string): void {
    const name = seriesName(series)
    const stopping = new AbortController()
    const nothing = { hasEnded: false, isReleased: false, failure: undefined, done: Promise.resolve() }
    const one: Kept = { series, asker, stopping, askedAt: this.#options.now(), ...nothing }
    this.#kept.set(name, one)
    one.done = this.#track(this.#run(one, this.#leaving.get(name)))
    void this.#track(this.#expire(one))
  }

  readonly #stopAll = (): void => {
    for (const one of this.#kept.values()) one.stopping.abort()
  }

  /** Says that a series was asked for, so that it is kept if it is followed on demand. */
  touch(series: Series): void {
    const one = this.#kept.get(seriesName(series))
    if (one !== undefined) one.askedAt = this.#options.now()
  }

  /**
   * Begins to follow a series, unless it is followed already. When the limit is reached, the least recently requested
   * series of the caller that holds the most is evicted, so that a few callers cannot keep the others out.
   *
   * @param asker the caller it is followed for; a caller without a name has no share of its own and evicts nobody
   * @throws ServiceError `too_many_series`, `shutting_down`
   */
  keep(series: Series, asker: string = ''): void {
    if (this.#options.signal.aborted) throw new ServiceError('shutting_down')
    const one = this.#kept.get(seriesName(series))
    if (one !== undefined) {
      one.askedAt = this.#options.now()
      return
    }
    const own = [...this.#kept.values()].filter((other) => other.asker === asker).length
    if (asker !== '' && own >= this.#mostPerAsker) throw tooManyOfOneError(series, this.#mostPerAsker)
    if (!this.#makeRoom(asker)) throw tooManyError(series, this.#mostSeries)
    this.#begin(series, asker)
  }

  /**
   * The board's entry of a series as soon as it has settled; what there is when the time is over.
   *
   * @param deadline wall clock, Unix milliseconds
   * @throws ServiceError what following it failed with; `shutting_down`
   */
  async settled(series: Series, deadline: number): Promise<BoardEntry | undefined> {
    const one = this.#kept.get(seriesName(series))
    const wish = { ...series }
    this.#awaited.add(wish)
    try {
      for (;;) {
        const entry = this.#options.board.get(series)
        if (entry !== undefined && this.#options.isSettled(entry)) return entry
        if (one?.failure !== undefined) throw one.failure
        if (this.#options.signal.aborted) throw new ServiceError('shutting_down')
        const left = deadline - this.#options.now()
        if (left <= 0 || (one?.hasEnded === true && !one.isReleased)) return entry
        await this.#options.sleep(Math.min(LOOK_EVERY_MS, left), this.#options.signal)
      }
    } finally {
      this.#awaited.delete(wish)
    }
  }

  /** The series that callers wait for, the one that was asked for first before the others. */
  readonly awaited = (): Iterable<Series> => this.#awaited

  /** Ends what is followed on demand of some series, for somebody else who follows them. Resolves when it has ended. */
  async release(series: readonly Series[]): Promise<void> {
    const names = series.map(seriesName)
    for (const name of names) {
      const one = this.#kept.get(name)
      if (one === undefined) continue
      one.isReleased = true
      this.#stop(one)
    }
    await Promise.all(names.map((name) => this.#leaving.get(name)?.done ?? Promise.resolve()))
  }

  /** How many are followed on demand. */
  readonly count = (): number => this.#kept.size

  /** Resolves when nothing is followed any more, which the signal brings about. */
  async ended(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work)
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
