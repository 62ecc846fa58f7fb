import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Board, BoardEntry } from '../board.ts'

/**
 * Follows a series until the signal: loads its history, records its verdicts, and maintains its entry on the board.
 * Resolves after it has ended, and rejects if it cannot go on.
 */
export type Follow = (series: Series, signal: AbortSignal) => Promise<void>

export interface OnDemandSeriesOptions extends Pick<Clock, 'now'> {
  readonly board: Board
  readonly follow: Follow
  /** Whether nothing is gained by waiting: an entry has a verdict, or too few bars for one. */
  readonly isSettled: (entry: BoardEntry) => boolean
  /** Ends after some milliseconds, or at once when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** Ends everything that is followed. */
  readonly signal: AbortSignal
  /** Called when following a series failed, whether or not somebody waits for it. */
  readonly onFailure: (series: Series, error: ServiceError) => void
  readonly mostSeries?: number
  readonly mostPerAsker?: number
}

/** Interval between checks of the board for a series that is loading. */
const POLL_MS = 25

interface Followed {
  readonly series: Series
  /** The caller for whom it was first followed. */
  readonly asker: string
  readonly stopping: AbortController
  /** Resolves when it has ended; never rejects. */
  done: Promise<void>
  askedAt: number
  hasEnded: boolean
  /** Whether a run that monitors it takes over, so that it is still worth waiting for. */
  isReleased: boolean
  failure: ServiceError | undefined
}

/** Series that callers ask for, followed for a while after the last request. */
export class OnDemandSeries {
  readonly #options: OnDemandSeriesOptions
  readonly #mostSeries: number
  readonly #mostPerAsker: number
  /** By name, the least recently requested first. */
  readonly #followed = new Map<string, Followed>()
  /** Stopped, but not ended yet: a series is not followed twice at a time. */
  readonly #leaving = new Map<string, Followed>()
  readonly #work = new Set<Promise<unknown>>()
  readonly #awaited = new Set<Series>()

  constructor(options: OnDemandSeriesOptions) {
    this.#options = options
    this.#mostSeries = options.mostSeries ?? LIMITS.seriesOnDemand
    this.#mostPerAsker = options.mostPerAsker ?? LIMITS.seriesOnDemandPerPayer
    const stopAll = (): void => this.#followed.forEach(({ stopping }) => stopping.abort())
    options.signal.addEventListener('abort', stopAll, { once: true })
  }

  #track(promise: Promise<void>): Promise<void> {
    const tracked = promise.finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
    return tracked
  }

  async #run(one: Followed, before: Followed | undefined): Promise<void> {
    const { series, stopping } = one
    if (before !== undefined) await before.done
    try {
      if (!stopping.signal.aborted) await this.#options.follow(series, stopping.signal)
    } catch (error) {
      if (!stopping.signal.aborted) one.failure = followingError(series, error)
    }
    one.hasEnded = true
    const name = seriesName(series)
    for (const group of [this.#followed, this.#leaving]) if (group.get(name) === one) group.delete(name)
    if (one.failure !== undefined) this.#options.onFailure(series, one.failure)
    stopping.abort()
  }

  /** Stops a series some time after its last request. */
  async #expire(one: Followed): Promise<void> {
    const { now, sleep } = this.#options
    while (!one.stopping.signal.aborted) {
      const left = one.askedAt + LIMITS.onDemandKeepMs - now()
      if (left > 0) await sleep(left, one.stopping.signal)
      else this.#stop(one)
    }
  }

  #stop(one: Followed): void {
    const name = seriesName(one.series)
    this.#leaving.set(name, one)
    this.#followed.delete(name)
    one.stopping.abort()
  }

  /** Notes a request, so that a followed series stays. @returns whether it is followed on demand */
  touch(series: Series): boolean {
    const name = seriesName(series)
    const one = this.#followed.get(name)
    if (one === undefined) return false
    one.askedAt = this.#options.now()
    this.#followed.delete(name)
    this.#followed.set(name, one)
    return true
  }

  /**
   * Follows a series. At the limit the least recently requested one is evicted.
   *
   * @param asker the caller it is followed for; one without a name has no share and evicts nobody
   * @throws ServiceError `overloaded`, `shutting_down`
   */
  keep(series: Series, asker: string = ''): void {
    if (this.#options.signal.aborted) throw new ServiceError('shutting_down')
    if (this.touch(series)) return
    const own = [...this.#followed.values()].filter((one) => one.asker === asker).length
    if (asker !== '' && own >= this.#mostPerAsker) throw tooManyError(series, this.#mostPerAsker, ' for you')
    if (this.#followed.size + this.#leaving.size >= this.#mostSeries) {
      const [oldest] = this.#followed.values()
      // A stopped series ends soon; stopping more and more of them makes no room.
      if (asker === '' || oldest === undefined || this.#leaving.size >= this.#mostSeries)
        throw tooManyError(series, this.#mostSeries, '')
      this.#stop(oldest)
    }
    const name = seriesName(series)
    const nothing = { hasEnded: false, isReleased: false, failure: undefined, done: Promise.resolve() }
    const one: Followed = {
      series,
      asker,
      stopping: new AbortController(),
      askedAt: this.#options.now(),
      ...nothing,
    }
    this.#followed.set(name, one)
    one.done = this.#track(this.#run(one, this.#leaving.get(name)))
    void this.#track(this.#expire(one))
  }

  /**
   * The board's entry of a series as soon as it has settled, or the present one at the deadline.
   *
   * @param deadline wall clock, Unix milliseconds
   * @throws ServiceError the failure of following it; `shutting_down`
   */
  async settled(series: Series, deadline: number): Promise<BoardEntry | undefined> {
    const { board, isSettled, signal, now, sleep } = this.#options
    const one = this.#followed.get(seriesName(series))
    const request = { ...series }
    this.#awaited.add(request)
    try {
      for (;;) {
        const entry = board.get(series)
        if (entry !== undefined && isSettled(entry)) return entry
        if (one?.failure !== undefined) throw one.failure
        if (signal.aborted) throw new ServiceError('shutting_down')
        const left = deadline - now()
        if (left <= 0 || (one?.hasEnded === true && !one.isReleased)) return entry
        await sleep(Math.min(POLL_MS, left), signal)
      }
    } finally {
      this.#awaited.delete(request)
    }
  }

  /** The series that callers wait for, the first request first. */
  readonly awaited = (): Iterable<Series> => this.#awaited

  /** Ends some series for a run that monitors them. Resolves when they have ended. */
  async release(series: readonly Series[]): Promise<void> {
    const names = series.map(seriesName)
    for (const one of names.flatMap((name) => this.#followed.get(name) ?? [])) {
      one.isReleased = true
      this.#stop(one)
    }
    await Promise.all(names.map((name) => this.#leaving.get(name)?.done ?? Promise.resolve()))
  }

  /** Number of series followed on demand. */
  readonly count = (): number => this.#followed.size

  /** Resolves when nothing is followed any more, after the signal. */
  async ended(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work)
  }
}

const followingError = (series: Series, error: unknown): ServiceError =>
  isServiceError(error)
    ? error
    : new ServiceError('venue_unavailable', {
        message: `${seriesName(series)} could not be loaded: ${reasonOf(error)}`,
        details: { series: seriesName(series) },
        cause: error,
      })

const tooManyError = (series: Series, limit: number, forWhom: string): ServiceError =>
  new ServiceError('overloaded', {
    message: `${seriesName(series)} is not monitored, and ${limit} series are followed${forWhom} on demand already`,
    details: { series: seriesName(series), limit, ...(forWhom !== '' && { per: 'payer' }) },
  })
