import { setImmediate } from 'node:timers/promises'
import { parseSeriesName } from '../../contracts/domain/series.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { comparePositions, later, type Position } from '../../contracts/infra/position.ts'
import type { EventStore, LookedAt, StreamNames } from '../log/event-store.ts'
import {
  isOfSeries,
  matchesFilter,
  type ReplayFilter,
  STREAM_PREFIXES,
  storeFilter,
} from './replay-filter.ts'
import { type SeriesEvent, SeriesEvents, type SeriesEventType, seriesEvent } from './series-events.ts'

/** A log with verdicts. Where it cannot list its streams, a filter without exchange or coin reads all of it. */
export interface VerdictLog extends Pick<EventStore, 'read' | 'readAll' | 'streams'> {
  head(): Position | Promise<Position>
}

export interface MatchingOptions<Type extends SeriesEventType> {
  readonly type: Type
  readonly filter: ReplayFilter
  /** Exclusive. */
  readonly after: Position
  /** Inclusive: a position, or the instant up to which events were appended. */
  readonly upTo: Position | Date
  readonly signal: AbortSignal
  /** As that of {@link EventStore.readAll}; events of other series are not looked at. */
  readonly onLooked?: (looked: LookedAt) => Promise<void>
}

/** Series that are read side by side. Where more match, the log is read from the first event of any of them. */
const MOST_SERIES = 1_024
/** Events of all series together that are read ahead, and of one of them. */
const EVENTS_AHEAD = 1_024
const LARGEST_PAGE = 64

/**
 * The verdicts or outcomes that a filter asks for, in the order of the log. A filter that names series or times reads the
 * streams of those series, from the first bar asked for on: how long the log is does not matter. The others read the log.
 *
 * @throws ServiceError `invalid_request` for a position of another log
 */
export async function* matchingEvents<Type extends SeriesEventType>(
  log: VerdictLog,
  options: MatchingOptions<Type>,
): AsyncGenerator<SeriesEvent<Type>, void, void> {
  const { after, signal } = options
  const known = await streamsOf(log, options)
  if (known === undefined) yield* scanned(log, options)
  // It also refuses a position that is none of this log.
  else if (await hasEvents(log, options)) {
    const series: SeriesEvents<Type>[] = []
    for (const stream of known.names) {
      const reading = readingOf(log, stream, options, known.upTo)
      if (await reading.begin()) series.push(reading)
      await options.onLooked?.({ upTo: after, events: 1 })
      if (signal.aborted) return
    }
    const [front] = series.map((one) => one.front).toSorted(comparePositions)
    // Events that were appended after the streams were listed may be of other series.
    let rest = later(known.upTo, after)
    if (series.length <= MOST_SERIES) yield* merged(series, options)
    else rest = front ?? after
    if (!signal.aborted) yield* scanned(log, { ...options, after: rest })
  }
}

function readingOf<Type extends SeriesEventType>(
  log: VerdictLog,
  stream: string,
  { type, filter: { from, to = Infinity }, after, upTo, signal }: MatchingOptions<Type>,
  knownUpTo: Position,
): SeriesEvents<Type> {
  const isPast = ({ position, data }: SeriesEvent): boolean =>
    data.barClose >= to ||
    comparePositions(position, knownUpTo) > 0 ||
    (typeof upTo === 'string' && comparePositions(position, upTo) > 0)
  return new SeriesEvents(log, { type, stream, from, after, isPast, signal })
}

async function hasEvents(
  log: VerdictLog,
  { after, upTo, signal }: MatchingOptions<SeriesEventType>,
): Promise<boolean> {
  for await (const _ of log.readAll({ after, upTo, limit: 1, signal })) return true
  return false
}

/** All streams that may hold events of a filter; undefined where it names no series and no time, or they are not known. */
async function streamsOf(
  log: VerdictLog,
  { type, filter }: MatchingOptions<SeriesEventType>,
): Promise<StreamNames | undefined> {
  const { exchanges, coins, timeframes = TIMEFRAMES, from, to } = filter
  const asked = [exchanges, coins, filter.timeframes, from, to]
  if (asked.every((part) => part === undefined)) return undefined
  const prefix = STREAM_PREFIXES[type]
  const head = await log.head()
  const listed = (storeFilter(filter, type).streamPrefixes ?? [prefix]).map((one) => log.streams?.(one))
  const names = new Set<string>()
  let upTo = head
  for (const one of listed) {
    if (one === undefined) break
    for (const name of one.names) {
      const series = parseSeriesName(name.slice(prefix.length))
      if (series !== undefined && isOfSeries(filter, series) && closesIn(filter, series.timeframe))
        names.add(name)
    }
    if (comparePositions(one.upTo, upTo) < 0) upTo = one.upTo
  }
  if (!listed.includes(undefined)) return { names: [...names], upTo }
  if (exchanges === undefined || coins === undefined) return undefined
  for (const exchange of exchanges)
    for (const coin of coins)
      for (const timeframe of timeframes) names.add(`${prefix}${exchange}.${coin}.${timeframe}`)
  return names.size > MOST_SERIES ? undefined : { names: [...names], upTo: head }
}

/** Whether a bar closes in the time asked for: bars are aligned. */
const closesIn = ({ from = 0, to = Infinity }: ReplayFilter, timeframe: Timeframe): boolean =>
  Math.ceil(from / timeframeMs(timeframe)) * timeframeMs(timeframe) < to

/** As {@link matchingEvents}, from the log. */
async function* scanned<Type extends SeriesEventType>(
  log: VerdictLog,
  { filter, type, ...options }: MatchingOptions<Type>,
): AsyncGenerator<SeriesEvent<Type>, void, void> {
  const read = { ...options, lazy: true, filter: storeFilter(filter, type) }
  for await (const recorded of log.readAll(read)) {
    const event = seriesEvent(recorded, type)
    if (event !== undefined && matchesFilter(filter, event.data)) yield event
  }
}

/** Takes the earliest of the next events again and again. */
async function* merged<Type extends SeriesEventType>(
  series: SeriesEvents<Type>[],
  { filter, after, upTo, signal, onLooked }: MatchingOptions<Type>,
): AsyncGenerator<SeriesEvent<Type>, void, void> {
  const until = upTo instanceof Date ? upTo.toISOString() : undefined
  const mostAhead = Math.max(1, Math.min(LARGEST_PAGE, Math.floor(EVENTS_AHEAD / series.length)))
  let reached = after
  for (let left = series; ; ) {
    let next: SeriesEvent<Type> | undefined
    let of: SeriesEvents<Type> | undefined
    for (const one of left) {
      if (one.next === undefined) {
        const events = await one.readOn(mostAhead)
        await setImmediate()
        await onLooked?.({ upTo: reached, events })
        if (signal.aborted) return
      }
      const event = one.next
      if (event === undefined || (next !== undefined && comparePositions(event.position, next.position) > 0))
        continue
      next = event
      of = one
    }
    left = left.filter((one) => one.next !== undefined)
    if (next === undefined || (until !== undefined && next.at > until)) return
    assert(comparePositions(next.position, reached) > 0, 'events come in the order of the log')
    reached = next.position
    of?.take()
    if (matchesFilter(filter, next.data)) yield next
  }
}
