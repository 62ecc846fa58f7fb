import { setImmediate } from 'node:timers/promises'
import { assert } from '../../contracts/assert.ts'
import type { RecordedEvent, Revision } from '../../contracts/event.ts'
import { decodeEvent, type VerdictRecorded } from '../../contracts/event-catalogue.ts'
import type { EventOf } from '../../contracts/event-definition.ts'
import { comparePositions, inFrontOf, later, type Position, START } from '../../contracts/position.ts'
import { parseVerdictStream, verdictStream } from '../../contracts/streams.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import type { EventStore, LookedAt, StreamNames } from '../log/event-store.ts'
import { isOfSeries, matchesFilter, type ReplayFilter, storeFilter } from './replay-filter.ts'

/** A log with verdicts. Where it cannot list its streams, a filter without exchange or coin reads all of it. */
export interface VerdictLog extends Pick<EventStore, 'read' | 'readAll' | 'streams'> {
  head(): Position | Promise<Position>
}

export interface MatchingOptions {
  readonly filter: ReplayFilter
  /** Exclusive. */
  readonly after: Position
  /** Inclusive: a position, or the instant up to which events were appended. */
  readonly upTo: Position | Date
  readonly signal: AbortSignal
  /** As that of {@link EventStore.readAll}; events of other series are not looked at. */
  readonly onLooked?: (looked: LookedAt) => Promise<void>
}

export type RecordedVerdict = EventOf<typeof VerdictRecorded>

/** Series that are read side by side. Where more match, the log is read from the first verdict of any of them. */
const MOST_SERIES = 1_024
/** Verdicts of all series together that are read ahead, and of one of them. */
const VERDICTS_AHEAD = 1_024
const LARGEST_PAGE = 64
/** Events beside a verdict in its stream are fewer than this. */
const NEIGHBOURS = 4
/** Events in front of the first verdict that are read, too, where a look did not find it: further ones take longer. */
const NEAR = 4

/**
 * The verdicts that a filter asks for, in the order of the log. A filter that names series or times reads the streams of
 * those series, from the first bar asked for on: how long the log is does not matter. The others read the log.
 *
 * @throws ServiceError `invalid_request` for a position of another log
 */
export async function* matchingVerdicts(
  log: VerdictLog,
  options: MatchingOptions,
): AsyncGenerator<RecordedVerdict, void, void> {
  const { filter, after, signal } = options
  const known = await streamsOf(log, filter)
  if (known === undefined) yield* scanned(log, options)
  // It also refuses a position that is none of this log.
  else if (await hasEvents(log, options)) {
    const series: SeriesReading[] = []
    for (const stream of known.names) {
      const reading = new SeriesReading(log, stream, { ...options, knownUpTo: known.upTo })
      if (await reading.begins()) series.push(reading)
      await options.onLooked?.({ upTo: after, events: 1 })
      if (signal.aborted) return
    }
    const [front] = series.map((one) => one.front).toSorted(comparePositions)
    // Verdicts that were appended after the streams were listed may be of other series.
    let rest = later(known.upTo, after)
    if (series.length <= MOST_SERIES) yield* merged(series, options)
    else rest = front ?? after
    if (!signal.aborted) yield* scanned(log, { ...options, after: rest })
  }
}

async function hasEvents(log: VerdictLog, { after, upTo, signal }: MatchingOptions): Promise<boolean> {
  for await (const _ of log.readAll({ after, upTo, limit: 1, signal })) return true
  return false
}

/** All streams that may hold verdicts of a filter; undefined where it names no series and no time, or they are not known. */
async function streamsOf(log: VerdictLog, filter: ReplayFilter): Promise<StreamNames | undefined> {
  const { exchanges, coins, timeframes = TIMEFRAMES, from, to } = filter
  const asked = [exchanges, coins, filter.timeframes, from, to]
  if (asked.every((part) => part === undefined)) return undefined
  const head = await log.head()
  const listed = (storeFilter(filter).streamPrefixes ?? ['verdict-']).map((prefix) => log.streams?.(prefix))
  const names = new Set<string>()
  let upTo = head
  for (const one of listed) {
    if (one === undefined) break
    for (const name of one.names) {
      const series = parseVerdictStream(name)
      if (series !== undefined && isOfSeries(filter, series) && closesIn(filter, series.timeframe))
        names.add(name)
    }
    if (comparePositions(one.upTo, upTo) < 0) upTo = one.upTo
  }
  if (!listed.includes(undefined)) return { names: [...names], upTo }
  if (exchanges === undefined || coins === undefined) return undefined
  for (const exchange of exchanges)
    for (const coin of coins)
      for (const timeframe of timeframes) names.add(verdictStream({ exchange, coin, timeframe }))
  return names.size > MOST_SERIES ? undefined : { names: [...names], upTo: head }
}

/** Whether a bar closes in the time asked for: bars are aligned. */
const closesIn = ({ from = 0, to = Infinity }: ReplayFilter, timeframe: Timeframe): boolean =>
  Math.ceil(from / timeframeMs(timeframe)) * timeframeMs(timeframe) < to

/** As {@link matchingVerdicts}, from the log. */
export async function* scanned(
  log: VerdictLog,
  { filter, ...options }: MatchingOptions,
): AsyncGenerator<RecordedVerdict, void, void> {
  for await (const recorded of log.readAll({ ...options, filter: storeFilter(filter) })) {
    const verdict = verdictIn(recorded)
    if (verdict !== undefined && matchesFilter(filter, verdict.data)) yield verdict
  }
}

/** Takes the earliest of the next verdicts again and again. */
async function* merged(
  series: SeriesReading[],
  { filter, after, upTo, signal, onLooked }: MatchingOptions,
): AsyncGenerator<RecordedVerdict, void, void> {
  const until = upTo instanceof Date ? upTo.toISOString() : undefined
  const mostAhead = Math.max(1, Math.min(LARGEST_PAGE, Math.floor(VERDICTS_AHEAD / series.length)))
  let reached = after
  for (let left = series; ; ) {
    let next: RecordedVerdict | undefined
    let of: SeriesReading | undefined
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
    assert(comparePositions(next.position, reached) > 0, 'verdicts come in the order of the log')
    reached = next.position
    of?.take()
    if (matchesFilter(filter, next.data)) yield next
  }
}

type ReadingOptions = MatchingOptions & { readonly knownUpTo: Position }

/** The verdicts of one series: their bars rise with their revisions, and so do their positions. */
class SeriesReading {
  /** No verdict that is asked for is at this place or in front of it. */
  front: Position
  readonly #log: VerdictLog
  readonly #stream: string
  readonly #options: ReadingOptions
  #from: Revision = 0
  #page = NEAR
  #isAtEnd = false
  #ahead: RecordedVerdict[] = []
  #at = 0

  constructor(log: VerdictLog, stream: string, options: ReadingOptions) {
    this.#log = log
    this.#stream = stream
    this.#options = options
    this.front = options.after
  }

  /** The next verdict that was read ahead. */
  get next(): RecordedVerdict | undefined {
    return this.#ahead[this.#at]
  }

  take(): void {
    this.#at += 1
  }

  /**
   * Looks for the first verdict, or for a few events in front of it, by the distance of bars from those that were seen.
   * @returns whether there is one
   */
  async begins(): Promise<boolean> {
    const { filter, after } = this.#options
    const newest = await this.#verdictAt('backwards')
    if (newest === undefined) return false
    if (newest === 'further') return true
    if (!this.#isAsked(newest)) return false
    if (filter.from === undefined && after === START) return true
    const barMs = timeframeMs(newest.data.timeframe)
    let [low, high] = [-1, newest.revision]
    let [known, perBar] = [newest, 1]
    for (let step = 1; high - low > NEAR; step += 1) {
      const bars = filter.from === undefined ? Number.NaN : (known.data.barClose - filter.from) / barMs
      const guess = known.revision - Math.round(bars * perBar)
      // Every third by halves: bars that are missing, or came late, mislead a guess.
      const probe = step % 3 === 0 || !(guess > low && guess < high) ? Math.floor((low + high) / 2) : guess
      const found = await this.#verdictAt('forwards', probe)
      if (found === undefined || found === 'further' || this.#isAsked(found)) high = probe
      else [low, this.front] = [found.revision, later(found.position, after)]
      if (found === undefined || found === 'further') continue
      known = found
      const since = (newest.data.barClose - found.data.barClose) / barMs
      if (since > 0) perBar = (newest.revision - found.revision) / since
      // It is asked for, and the bar in front of it is not.
      if (high !== probe || found.data.barClose - barMs >= (filter.from ?? 0)) continue
      low = found.revision
      this.front = inFrontOf(found.position)
      this.#offer(found)
      break
    }
    this.#from = low + 1
    return true
  }

  /** Reads further verdicts ahead, when the last was taken. @returns how many events were read */
  async readOn(mostAhead: number): Promise<number> {
    const { signal } = this.#options
    this.#ahead = []
    this.#at = 0
    let events = 0
    while (this.#ahead.length === 0 && !this.#isAtEnd && !signal.aborted) {
      const limit = this.#page
      let read = 0
      const options = { from: this.#from, limit, signal }
      for await (const recorded of this.#log.read(this.#stream, options)) {
        read += 1
        this.#from = recorded.revision + 1
        const verdict = verdictIn(recorded)
        if (verdict !== undefined) this.#offer(verdict)
        if (this.#isAtEnd) break
      }
      events += read
      this.#isAtEnd ||= read < limit
      this.#page = Math.min(mostAhead, 2 * this.#page)
    }
    return events
  }

  /** Takes the next verdict where it is asked for, and finds where it is the last. */
  #offer(verdict: RecordedVerdict): void {
    const { filter, upTo, knownUpTo } = this.#options
    const { position, data } = verdict
    const isPast =
      comparePositions(position, knownUpTo) > 0 ||
      (typeof upTo === 'string' && comparePositions(position, upTo) > 0)
    if (!isPast && matchesFilter(filter, data) && this.#isAsked(verdict)) this.#ahead.push(verdict)
    this.#isAtEnd ||= isPast || data.barClose + timeframeMs(data.timeframe) >= (filter.to ?? Infinity)
  }

  #isAsked({ position, data }: RecordedVerdict): boolean {
    const { filter, after } = this.#options
    return data.barClose >= (filter.from ?? 0) && comparePositions(position, after) > 0
  }

  /** The verdict at a revision or next to it; undefined where there are no events, `further` where it is not so near. */
  async #verdictAt(
    direction: 'forwards' | 'backwards',
    from?: Revision,
  ): Promise<RecordedVerdict | 'further' | undefined> {
    let last: RecordedEvent | undefined
    // Most events are verdicts: the neighbours are read where one is not.
    for (const limit of [1, NEIGHBOURS]) {
      const read = { direction, limit, ...(from !== undefined && { from }) } as const
      for await (const recorded of this.#log.read(this.#stream, read)) {
        last = recorded
        const verdict = verdictIn(recorded)
        if (verdict !== undefined) return verdict
      }
      if (last === undefined) return undefined
    }
    return 'further'
  }
}

export function verdictIn(recorded: RecordedEvent): RecordedVerdict | undefined {
  const event = decodeEvent(recorded)
  return event.type === 'VerdictRecorded' ? event : undefined
}
