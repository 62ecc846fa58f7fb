import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { isServiceError, type ServiceError } from '../../../contracts/errors/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type EngineRun, NOTHING_RUN, seriesError, together } from './run-engine.ts'

export interface FollowerOptions extends Pick<Clock, 'sleep'> {
  /**
   * One run over some series, to the end of the market or until the signal.
   *
   * @param until the signal that `follow` was given
   * @param onClosed told of each series that is closed because of its own fault
   */
  readonly run: (
    series: readonly Series[],
    until: AbortSignal,
    onClosed: (series: Series, error: ServiceError) => void,
  ) => Promise<EngineRun>
  /** Whether what failed is tried again. A recorded market would fail in the same way. */
  readonly triesAgain: boolean
  /** Told when a series was closed; it is tried again after so many milliseconds, if at all. */
  readonly onClosed: (series: Series, error: ServiceError, againInMs: number | undefined) => void
  /** Told when a whole run failed, which begins again after so many milliseconds. */
  readonly onFailed: (series: readonly Series[], error: unknown, againInMs: number) => void
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number
}

/** Before the next try, the longer the more often it failed in a row; what went well for longer is no such failure. */
const PAUSES_MS = [30_000, 60_000, 120_000, 300_000, 900_000] as const
const LONGEST_PAUSE_MS = 900_000

/** Follows series for as long as the market goes on, even when single series or runs fail. */
export function createFollower(options: FollowerOptions) {
  const { run, now, sleep, triesAgain } = options
  const closed = new Set<string>()

  /** A series that was closed goes on in runs of its own. */
  async function followAlone(series: Series, first: ServiceError, signal: AbortSignal): Promise<EngineRun> {
    const name = seriesName(series)
    const pauses = createPauses(now)
    let sum = NOTHING_RUN
    let fault: ServiceError | undefined = first
    while (fault !== undefined && !signal.aborted) {
      closed.add(name)
      const pause = pauses.next()
      options.onClosed(series, fault, pause)
      await sleep(pause, signal)
      closed.delete(name)
      if (signal.aborted) break
      pauses.begin()
      fault = undefined
      try {
        const onClosed = (_: Series, error: ServiceError): void => void (fault = error)
        sum = together(sum, await run([series], signal, onClosed))
      } catch (error) {
        fault = seriesError(series, error)
      }
    }
    return sum
  }

  /** @throws what a run fails with, where nothing is tried again */
  async function follow(series: readonly Series[], signal: AbortSignal): Promise<EngineRun> {
    const left = new Map(series.map((one) => [seriesName(one), one]))
    const alone: Promise<EngineRun>[] = []
    const pauses = createPauses(now)

    function close(one: Series, error: ServiceError): void {
      left.delete(seriesName(one))
      if (triesAgain) alone.push(followAlone(one, error, signal))
      else options.onClosed(one, error, undefined)
    }

    /** @returns undefined where what failed is to begin again */
    async function runOnce(): Promise<EngineRun | undefined> {
      pauses.begin()
      try {
        return await run([...left.values()], signal, close)
      } catch (error) {
        if (!triesAgain) throw error
        if (signal.aborted) return NOTHING_RUN
        const own = isServiceError(error) ? error.details?.series : undefined
        const one = typeof own === 'string' ? left.get(own) : undefined
        if (one !== undefined) close(one, seriesError(one, error))
        else {
          const pause = pauses.next()
          options.onFailed([...left.values()], error, pause)
          await sleep(pause, signal)
        }
        return undefined
      }
    }

    let ended: EngineRun | undefined
    while (ended === undefined && left.size > 0 && !signal.aborted) ended = await runOnce()
    return [ended ?? NOTHING_RUN, ...(await Promise.all(alone))].reduce(together)
  }

  return {
    follow /** Whether a series is closed at the moment, waiting to be tried again. */,
    isClosed: (series: Series): boolean => closed.has(seriesName(series)),
  }
}

/** How long to wait after each failure of the same thing. */
function createPauses(now: () => number): { begin(): void; next(): number } {
  let failures = 0
  let begunAt = now()
  return {
    begin: () => (begunAt = now()),
    next() {
      if (now() - begunAt > LONGEST_PAUSE_MS) failures = 0
      return PAUSES_MS[failures++] ?? LONGEST_PAUSE_MS
    },
  }
}
