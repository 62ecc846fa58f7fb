import type { Candle } from '../../../contracts/domain/candle.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { barsMissed, type Verdict, WINDOW_BARS } from '../../../contracts/domain/verdict.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { verdictStream } from '../../../contracts/events/streams.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createRace, type Race, type RaceResult } from '../race.ts'
import type { Retrier } from './append-once.ts'
import { openVerdictsOf } from './open-verdicts.ts'
import type { Recorded } from './recorder.ts'

export interface LabellerOptions {
  readonly store: EventStore
  readonly retrier: Retrier
  readonly series: Series
  /** Verdicts read, and outcomes given, at a time. */
  readonly pageSize: number
}

/** The part of an outcome that repeats its verdict. */
type Labelled = Omit<Outcome, keyof RaceResult>

interface OpenRace {
  readonly verdict: Labelled
  readonly race: Race
  result: RaceResult | undefined
}

const LONGEST_WINDOW = Math.max(...Object.values(WINDOW_BARS))

/**
 * Reads the open verdicts of one series from the log, and gives the outcome of each once bars have passed its window.
 * A missing bar leaves it incomplete, unless an earlier one decided it; where no bars come, `conclude` ends the wait.
 *
 * Verdicts are read from the log no further ahead than the bars have come, so that only the races under way are in
 * memory, whether eight verdicts are open or all of years; those that were just recorded need not be read.
 */
export class Labeller {
  readonly #options: LabellerOptions
  readonly #races: OpenRace[] = []
  /** The stretch of the verdict stream that is still to be read; undefined until the log was asked. */
  #ahead: { next: Revision; readonly end: Revision } | undefined
  /** The last bars, as many as a window has: another process may record a verdict late. */
  readonly #recent: Candle[] = []

  constructor(options: LabellerOptions) {
    this.#options = options
  }

  #open(verdict: Verdict): void {
    const entry = startRace(verdict)
    this.#races.push(entry)
    for (const bar of this.#recent) entry.result ??= entry.race.take(bar)
  }

  async #loadPage({ next, end }: { next: Revision; end: Revision }): Promise<void> {
    const page = await this.#options.retrier.waitOut(async () => {
      const events = []
      const read = { from: next, to: end, limit: this.#options.pageSize }
      for await (const event of this.#options.store.read(verdictStream(this.#options.series), read))
        events.push(decodeEvent(event))
      return events
    })
    for (const event of page) if (event.type === 'VerdictRecorded') this.#open(event.data)
    // A page without events would be asked for again and again.
    this.#ahead = { next: (page.at(-1)?.revision ?? end) + 1, end }
  }

  /** Learns of verdicts that are in the log now: at once where they follow on what is known, else by reading. */
  #follow({ next, end }: { next: Revision; end: Revision }, { appends, end: now }: Recorded): void {
    let known = { next, end }
    for (const { facts, first, last } of appends) {
      if (first === known.next && known.next > known.end) {
        for (const verdict of facts) this.#open(verdict)
        known = { next: last + 1, end: last }
      }
    }
    this.#ahead = {
      ...known,
      end: now.revision === 'no-stream' ? known.end : Math.max(known.end, now.revision),
    }
  }

  /** The next stretch to read, where a verdict of a bar that closed by now may be in it. */
  #missing(openTime: number): { next: Revision; end: Revision } | undefined {
    if (this.#ahead === undefined || this.#ahead.next > this.#ahead.end) return undefined
    const newest = this.#races.at(-1)?.verdict.barClose
    return newest === undefined || newest < openTime ? this.#ahead : undefined
  }

  #advance(bar: Candle): Outcome[] {
    for (const entry of this.#races) {
      if (entry.verdict.barClose > bar.openTime) break
      entry.result ??= entry.race.take(bar)
    }
    return this.#takeEnded()
  }

  /** In the order of their bars: one that is over waits for those before it. */
  #takeEnded(): Outcome[] {
    if (this.#races[0]?.result === undefined) return []
    const stillOpen = this.#races.findIndex(({ result }) => result === undefined)
    return this.#races
      .splice(0, stillOpen === -1 ? this.#races.length : stillOpen)
      .flatMap(({ verdict, result }) => (result === undefined ? [] : [{ ...verdict, ...result }]))
  }

  async #begin(): Promise<{ readonly next: Revision; readonly end: Revision }> {
    if (this.#ahead !== undefined) return this.#ahead
    const { from, end } = await this.#options.retrier.waitOut(() =>
      openVerdictsOf(this.#options.store, this.#options.series),
    )
    this.#ahead = { next: from, end }
    return this.#ahead
  }

  /**
   * Takes the next bars of the series and what was recorded up to the last of them.
   *
   * @returns the outcomes that are due, in the order of their bars, some at a time.
   */
  async *take(
    bars: readonly Candle[],
    recorded: Recorded | undefined,
  ): AsyncGenerator<Outcome[], void, void> {
    const known = await this.#begin()
    if (recorded !== undefined) this.#follow(known, recorded)
    let due: Outcome[] = []
    for (const bar of bars) {
      for (let page = this.#missing(bar.openTime); page !== undefined; page = this.#missing(bar.openTime)) {
        await this.#loadPage(page)
        // A race whose window closes by this bar is over, and makes room for the next page.
        due.push(...this.#advance(bar))
        if (due.length < this.#options.pageSize) continue
        yield due
        due = []
      }
      due.push(...this.#advance(bar))
      this.#recent.push(bar)
      if (this.#recent.length > LONGEST_WINDOW) this.#recent.shift()
    }
    if (due.length > 0) yield due
  }

  /**
   * Waits no longer for the bars of windows that closed by an instant.
   *
   * @param until market time, Unix milliseconds
   * @returns their outcomes: what bars decided stands, the others are incomplete.
   */
  async *conclude(until: number): AsyncGenerator<Outcome[], void, void> {
    for (let page = await this.#begin(); ; page = await this.#begin()) {
      for (const entry of this.#races) {
        if (entry.verdict.validUntil > until) break
        entry.result ??= entry.race.end()
      }
      const due = this.#takeEnded()
      if (due.length > 0) yield due
      if (this.#races.length > 0 || page.next > page.end) return
      await this.#loadPage(page)
    }
  }
}

/** The race of a verdict, with the fields that its outcome repeats. */
export function startRace(verdict: Verdict): OpenRace {
  const { exchange, coin, timeframe, verdictId, barClose, validUntil } = verdict
  const { modelVersion, call, probability, barrier, forecast, recordedLate } = verdict
  const barMs = timeframeMs(timeframe)
  // The window is the verdict's own: what a later release gives a timeframe does not change it.
  const windowBars = (validUntil - barClose) / barMs
  const about = { exchange, coin, timeframe, verdictId, barClose, validUntil }
  const said = { modelVersion, call, probability, barrier, forecast, recordedLate }
  return {
    verdict: { ...about, ...said, barsMissed: barsMissed(verdict) },
    race: createRace({ barClose, barMs, windowBars, barrier }),
    result: undefined,
  }
}
