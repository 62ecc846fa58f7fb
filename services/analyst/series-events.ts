import type { Outcome } from '../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../contracts/domain/series.ts'
import { timeframeMs } from '../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { outcomeStream, verdictStream } from '../../contracts/events/streams.ts'
import type { RecordedEvent, Revision } from '../../contracts/infra/event.ts'
import { inFrontOf, later, type Position, START } from '../../contracts/infra/position.ts'
import type { EventStore } from '../log/event-store.ts'
import { RecentMap } from '../runtime/cache/recent-map.ts'

/** Events of which a series has at most one for each bar. */
interface DataOf {
  readonly VerdictRecorded: Verdict
  readonly OutcomeLabelled: Outcome
}
export type SeriesEventType = keyof DataOf

export interface SeriesEvent<Type extends SeriesEventType = SeriesEventType>
  extends Pick<RecordedEvent, 'id' | 'revision' | 'position' | 'at'> {
  readonly type: Type
  readonly data: DataOf[Type]
}

/** The event, if it is of that type. Its JSON is parsed once, when its data is read. */
export const seriesEvent = <Type extends SeriesEventType>(
  recorded: RecordedEvent,
  type: Type,
): SeriesEvent<Type> | undefined =>
  recorded.type === type ? (decodeEvent(recorded) as unknown as SeriesEvent<Type>) : undefined

/** Events in front of the first one that are read, too: further ones take longer. */
const NEAR = 4

/** A part of the events of a series: from the first that is asked for up to the first that is past. */
export interface SeriesRange<Type extends SeriesEventType> {
  readonly type: Type
  readonly stream: string
  /** Close of the first bar asked for, Unix milliseconds. */
  readonly from?: number | undefined
  /** Exclusive. */
  readonly after?: Position
  readonly isPast?: (event: SeriesEvent) => boolean
  readonly signal: AbortSignal
}

/** Reads the events of one type of a series in pages: their bars rise with their revisions, and so do their positions. */
export class SeriesEvents<Type extends SeriesEventType> {
  /** No event that is asked for is at this position or in front of it. */
  front: Position
  readonly #log: Pick<EventStore, 'read'>
  readonly #range: SeriesRange<Type>
  #from: Revision = 0
  #page = NEAR
  #isAtEnd = false
  #ahead: SeriesEvent<Type>[] = []
  #at = 0

  constructor(log: Pick<EventStore, 'read'>, range: SeriesRange<Type>) {
    this.#log = log
    this.#range = range
    this.front = range.after ?? START
  }

  /** The next event that was read ahead. */
  get next(): SeriesEvent<Type> | undefined {
    return this.#ahead[this.#at]
  }

  get isAtEnd(): boolean {
    return this.#isAtEnd
  }

  take(): void {
    this.#at += 1
  }

  /** Goes back to a bar within what was read ahead. @returns whether it is there */
  rewind(barClose: number): boolean {
    const first = this.#ahead[0]
    if (first === undefined || first.data.barClose > barClose) return false
    const before = this.#ahead[this.#at - 1]
    if (before !== undefined && before.data.barClose >= barClose) this.#at = 0
    return true
  }

  /** More may have been appended since. */
  reopen(): void {
    this.#isAtEnd = false
  }

  /**
   * Searches for the first event asked for, or for a few in front of it, by the distance of bars from those that were seen.
   * @returns whether there is one
   */
  async begin(): Promise<boolean> {
    const { from, after = START } = this.#range
    const newest = await this.#eventAt('backwards')
    if (newest === undefined) return false
    if (!this.#isAsked(newest)) return false
    if (from === undefined && after === START) return true
    const barMs = timeframeMs(newest.data.timeframe)
    let [low, high] = [-1, newest.revision]
    let [known, perBar] = [newest, 1]
    for (let step = 1; high - low > NEAR; step += 1) {
      const bars = from === undefined ? Number.NaN : (known.data.barClose - from) / barMs
      const guess = known.revision - Math.round(bars * perBar)
      // Every third by halves: bars that are missing, or came late, mislead a guess.
      const probe = step % 3 === 0 || !(guess > low && guess < high) ? Math.floor((low + high) / 2) : guess
      const found = await this.#eventAt('forwards', probe)
      if (found === undefined || this.#isAsked(found)) high = probe
      else [low, this.front] = [found.revision, later(found.position, after)]
      if (found === undefined) continue
      known = found
      const since = (newest.data.barClose - found.data.barClose) / barMs
      if (since > 0) perBar = (newest.revision - found.revision) / since
      // It is asked for, and the bar in front of it is not.
      if (high !== probe || found.data.barClose - barMs >= (from ?? 0)) continue
      low = found.revision
      this.front = inFrontOf(found.position)
      this.#offer(found)
      break
    }
    this.#from = low + 1
    return true
  }

  /** Reads further events ahead, when the last was taken. @returns how many were read */
  async readOn(mostAhead: number): Promise<number> {
    const { type, stream, signal } = this.#range
    this.#ahead = []
    this.#at = 0
    let events = 0
    while (this.#ahead.length === 0 && !this.#isAtEnd && !signal.aborted) {
      const limit = Math.min(mostAhead, this.#page)
      let read = 0
      for await (const recorded of this.#log.read(stream, {
        from: this.#from,
        limit,
        signal,
        lazy: true,
      })) {
        read += 1
        this.#from = recorded.revision + 1
        const event = seriesEvent(recorded, type)
        if (event !== undefined) this.#offer(event)
        if (this.#isAtEnd) break
      }
      events += read
      this.#isAtEnd ||= read < limit
      this.#page = 2 * limit
    }
    return events
  }

  /** Takes the next event if it is asked for, as all after it are, and notes the end. */
  #offer(event: SeriesEvent<Type>): void {
    if (this.#range.isPast?.(event) === true) this.#isAtEnd = true
    else if (this.#ahead.length > 0 || this.#isAsked(event)) this.#ahead.push(event)
  }

  #isAsked({ position, data }: SeriesEvent<Type>): boolean {
    const { from = 0, after = START } = this.#range
    return data.barClose >= from && (after === START || later(position, after) !== after)
  }

  /** The event at a revision, or the newest one; undefined where there is none. */
  async #eventAt(
    direction: 'forwards' | 'backwards',
    from?: Revision,
  ): Promise<SeriesEvent<Type> | undefined> {
    const read = { direction, limit: 1, lazy: true, ...(from !== undefined && { from }) } as const
    for await (const recorded of this.#log.read(this.#range.stream, read))
      return seriesEvent(recorded, this.#range.type)
    return undefined
  }
}

/** Series of which it is known where their next event is. */
const MOST_SERIES = 65_536
/** Events of all series together that are read ahead, and of one of them. */
const EVENTS_AHEAD = 8_192
const LARGEST_PAGE = 64

/**
 * Finds the event of the same bar in the other stream of a series: the verdict of an outcome, the outcome of a verdict. Each
 * series is read a page ahead, so bars are best asked for in their order.
 *
 * @param isPast whether an event is after the end of the log as it was; without it the log goes on
 */
export function createCounterparts<Type extends SeriesEventType>(
  log: Pick<EventStore, 'read'>,
  type: Type,
  { isPast, signal }: Pick<SeriesRange<Type>, 'isPast' | 'signal'>,
) {
  const streamOf = type === 'VerdictRecorded' ? verdictStream : outcomeStream
  const bySeries = new RecentMap<string, SeriesEvents<Type>>(MOST_SERIES)

  /** The events of a series from a bar on; undefined where there are none yet. */
  async function readingFrom(series: Series, name: string, from: number) {
    const options = { type, stream: streamOf(series), from, signal, ...(isPast && { isPast }) }
    const reading = new SeriesEvents(log, options)
    if (!(await reading.begin())) return undefined
    bySeries.set(name, reading)
    return reading
  }

  async function find(series: Series, barClose: number): Promise<SeriesEvent<Type> | undefined> {
    const name = seriesName(series)
    const known = bySeries.get(name)
    const isKnown = known?.rewind(barClose) === true
    if (isKnown && isPast === undefined) known.reopen()
    const reading = isKnown ? known : await readingFrom(series, name, barClose)
    const most = Math.max(1, Math.min(LARGEST_PAGE, Math.floor(EVENTS_AHEAD / (bySeries.size + 1))))
    if (reading === undefined) return undefined
    for (;;) {
      const { next } = reading
      if (next !== undefined && next.data.barClose >= barClose)
        return next.data.barClose === barClose ? next : undefined
      if (next !== undefined) reading.take()
      else if (reading.isAtEnd || signal.aborted) return undefined
      else await reading.readOn(most)
    }
  }

  return {
    /** At once where it was read ahead. */
    of(series: Series & { readonly barClose: number }) {
      const next = bySeries.get(seriesName(series))?.next
      return next?.data.barClose === series.barClose ? next : find(series, series.barClose)
    },
  }
}
