import { setImmediate } from 'node:timers/promises'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { HOUR_MS, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/domain/verdict.ts'
import { isServiceError, type ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import { batchesOf } from '../../runtime/async/batches.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { BarFact } from './append-once.ts'
import { backfillFrom, openVerdictsOf } from './open-verdicts.ts'
import type { OutcomeRecorder } from './outcome-recorder.ts'

export interface LabelUnfollowedOptions extends Pick<Clock, 'sleep'> {
  readonly store: EventStore
  /** A recorder of its own: a series may be followed again while it is labelled here, and the first one labels. */
  readonly outcomes: OutcomeRecorder
  /** Newest verdict of every series in the log, followed or not. */
  readonly newestVerdicts: () => Iterable<Series & BarFact>
  /** Whether the run that follows a series labels it. */
  readonly isFollowed: (series: Series) => boolean
  /** Whether its market has ended for good, so that no bars of it come any more. */
  readonly isGone: (series: Series) => boolean
  /** The outcome recorder of the runs, which has seen every bar of the followed series. */
  readonly followed: Pick<OutcomeRecorder, 'conclude'>
  /** The bars of some series: history up to the present, then a live batch. */
  readonly batches: (request: {
    readonly series: readonly Series[]
    readonly historyFrom?: number
    readonly signal: AbortSignal
  }) => AsyncIterable<BarBatch>
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  readonly signal: AbortSignal
  /** Told when a series cannot be labelled; once until it works again. */
  readonly onFailure: (series: Series, error: ServiceError) => void
}

/** How often it is looked whether a window has closed; wall clock. */
const LOOK_EVERY_MS = 30_000
/** How long a series that failed is left alone; market time. */
const RETRY_AFTER_MS = HOUR_MS
/** Series between two turns of the event loop, which has others to serve meanwhile. */
const SERIES_PER_TURN = 500
const BATCHES_AT_ONCE = 64

/** Result of the last check of a series. */
interface Looked {
  readonly barClose: number
  /** Market time at which it is to be looked at again. */
  readonly dueAt: number
}

/**
 * Labels the verdicts of series that nobody follows any more, each when its window has closed: those that
 * were asked for a while ago, or that the settings left out since. Without it a verdict would count for the
 * track record only if somebody asked for its series again. So are those whose market has ended, followed or not:
 * no bar comes that would close their windows. No verdict is recorded. Until the signal.
 *
 * @throws ServiceError of the log, but not for what passes by itself
 */
export async function labelUnfollowed(options: LabelUnfollowedOptions): Promise<void> {
  const { newestVerdicts, isFollowed, isGone, clock, sleep, signal, onFailure } = options
  const known = new Map<string, Looked>()
  const failing = new Set<string>()

  /** @returns market time at which the series is to be looked at again. */
  async function look(series: Series): Promise<number> {
    const name = seriesName(series)
    try {
      const dueAt = await labelClosed(options, series)
      failing.delete(name)
      return dueAt
    } catch (error) {
      if (signal.aborted) return clock()
      if (!isServiceError(error)) throw error
      if (!failing.has(name)) onFailure(series, error)
      failing.add(name)
      return clock() + RETRY_AFTER_MS
    }
  }

  async function due(): Promise<{ readonly series: Series; readonly barClose: number }[]> {
    const found = []
    let looked = 0
    for (const { exchange, coin, timeframe, barClose } of newestVerdicts()) {
      if (++looked % SERIES_PER_TURN === 0) await setImmediate()
      const series: Series = { exchange, coin, timeframe }
      const before = known.get(seriesName(series))
      const isWaiting = before?.barClose === barClose && clock() < before.dueAt
      if (!isWaiting && (!isFollowed(series) || isGone(series))) found.push({ series, barClose })
    }
    return found
  }

  while (!signal.aborted) {
    // An exchange that does not answer holds up its own series only.
    const byExchange = Map.groupBy(await due(), ({ series }) => series.exchange)
    await Promise.all(
      [...byExchange.values()].map(async (group) => {
        for (const { series, barClose } of group) {
          if (signal.aborted) return
          known.set(seriesName(series), { barClose, dueAt: await look(series) })
        }
      }),
    )
    await sleep(LOOK_EVERY_MS, signal)
  }
}

/** How long to wait for missing bars after a window has closed. */
const waitMs = (error: unknown): number =>
  isServiceError(error, 'market_data_missing') ? LIMITS.outcomeGoneMs : LIMITS.outcomeBackfillMs

/** Labels what is due of a series; answers when something may be due the next time. */
async function labelClosed(options: LabelUnfollowedOptions, series: Series): Promise<number> {
  const { store, outcomes, clock } = options
  const open = await openVerdictsOf(store, series)
  if (open.oldestBarClose === undefined) return Number.POSITIVE_INFINITY
  const closes = open.oldestBarClose + WINDOW_BARS[series.timeframe] * timeframeMs(series.timeframe)
  if (clock() < closes) return closes
  // The last bar of the window may come a little late.
  const again = clock() + LIMITS.staleAfterMs
  if (options.isFollowed(series)) {
    await options.followed.conclude(series, clock())
    return again
  }
  const historyFrom = backfillFrom(open, clock())
  const ending = new AbortController()
  const signal = AbortSignal.any([options.signal, ending.signal])
  // Races need the bars of their windows only: nothing is warmed up.
  const request = {
    series: [series],
    signal,
    historyBars: 1,
    ...(historyFrom !== undefined && { historyFrom }),
  }
  try {
    for await (const group of batchesOf(options.batches(request), BATCHES_AT_ONCE)) {
      const bars = group.flatMap((batch) => batch.bars.map(({ candle }) => candle))
      if (bars.length > 0) await outcomes.label(series, bars)
      if (group.some(({ phase }) => phase === 'live')) break
    }
    await outcomes.conclude(series, clock() - LIMITS.outcomeBackfillMs)
  } catch (error) {
    const waitedMs = options.isGone(series) ? 0 : waitMs(error)
    if (!signal.aborted) await outcomes.conclude(series, clock() - waitedMs)
    throw error
  } finally {
    ending.abort()
    outcomes.release(series)
  }
  return again
}
