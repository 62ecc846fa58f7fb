import type { Candle } from '../../../contracts/domain/candle.ts'
import type { ClosedBar } from '../../../contracts/domain/feed.ts'
import { type Market, marketName, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { barOpenAt, lastBarClose, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { BarAggregator } from '../aggregate-bars.ts'
import { ROW_NUMBERS } from '../bar-maker.ts'
import { createLeapFilter } from './leap-filter.ts'
import type { LegPlan, LegTarget } from './plan-legs.ts'
import type { Venue } from './venue.ts'

const FOREVER = Number.POSITIVE_INFINITY

/** How late a venue may publish a bar, so that it is still told in order; longer, and the bars behind it were stale. */
const LATE_BAR_MS = 150_000

/** Missing bars in a row that a series goes on over; behind more it begins anew. */
const HOLE_BARS = 12

/** Share of bars from which on a coin is not thin, and times the usual stretch that a start reaches back for one that is. */
const ENOUGH = 0.9
const REACH = 3

/** Bars since the last hole, so that a new one is worth waiting for: some coins have holes all the time. */
const RARE_HOLE_BARS = 30

/**
 * Bars of one native timeframe of one market: fetched in order, page by page, and told in order. A missing bar stays
 * missing: as soon as a later bar has come, the longer bar is delivered without it.
 */
export class BarLeg {
  #targets: readonly LegTarget[] = []
  #isPlaced = false
  readonly venue: Venue
  readonly #now: () => number
  readonly market: Market
  readonly timeframe: Timeframe
  begins = 0
  /** Infinite where bars keep coming. */
  readonly ends: number
  readonly lengthMs: number
  readonly #native: Series
  /** By name of a series: its end, the newest bar that was emitted, and how many were. */
  readonly #states: ReadonlyMap<string, { readonly endsAt: number; toldTo: number; bars: number }>
  #aggregator = new BarAggregator()
  #source = 0
  readonly #leaps = createLeapFilter()
  readonly #pages: Float64Array[] = []
  #head = 0
  #waiting = 0
  #nextOpen = 0
  #fetchedTo = 0
  #knownTo = Number.NEGATIVE_INFINITY
  #lastHole = Number.NEGATIVE_INFINITY
  #waitsUntil = FOREVER
  /** The newest bar that came, which the venue may still restate. */
  #newest: Candle | undefined
  /** Close of the longer bar in the making that closes first. */
  #pending = FOREVER
  #fetching: Promise<void> | undefined
  /** The series made of its bars. */
  readonly series: Series[]

  /** @param now the present, Unix milliseconds */
  constructor(plan: LegPlan, venue: Venue, now: () => number) {
    this.venue = venue
    this.#now = now
    this.market = plan.market
    this.timeframe = plan.timeframe
    this.ends = plan.ends
    this.lengthMs = timeframeMs(plan.timeframe)
    this.#native = { ...plan.market, timeframe: plan.timeframe }
    this.series = plan.targets.map(({ series }) => series)
    this.#states = new Map(
      plan.targets.map(({ series, endsAt }) => [seriesName(series), { endsAt, toldTo: -1, bars: 0 }]),
    )
    this.#begin(plan.targets)
  }

  #begin(targets: readonly LegTarget[]): void {
    this.#targets = targets
    this.#aggregator = new BarAggregator()
    for (const { series, notBefore, isCovered } of targets)
      this.#source = this.#aggregator.add({ series, base: this.timeframe, notBefore, isCovered })
    this.begins = Math.min(...targets.map(({ notBefore }) => notBefore))
    this.#nextOpen = this.begins
    this.#fetchedTo = this.begins
  }

  /**
   * Begins earlier where the first page lacks bars, once: a start counts bars, and not their time. Not where so many
   * lack in a row that a series begins anew behind them.
   */
  #reachesBack(bars: readonly Candle[], pageEnd: number, until: number): boolean {
    if (this.#isPlaced) return false
    this.#isPlaced = true
    const earlier = this.#targets.map((target): LegTarget => {
      const { series, notBefore, endsAt, isCovered } = target
      const opens = [...new Set(bars.map(({ openTime }) => barOpenAt(series.timeframe, openTime)))]
      const lengthMs = timeframeMs(series.timeframe)
      const hasHole = [this.begins - lengthMs, ...opens].some(
        (open, at, all) => (all[at + 1] ?? pageEnd) - open > (HOLE_BARS + 1) * lengthMs,
      )
      const share = (opens.length * lengthMs) / (pageEnd - this.begins)
      const end = Math.min(endsAt, until)
      const isShort = end - notBefore < LIMITS.warmUpBars * lengthMs
      if (isCovered || isShort || hasHole || share >= ENOUGH) return target
      const spanMs = (end - notBefore) / Math.max(share, 1 / REACH)
      return { ...target, notBefore: Math.max(0, barOpenAt(series.timeframe, end - spanMs)) }
    })
    if (earlier.every((target, at) => target === this.#targets[at])) return false
    this.#begin(earlier)
    return true
  }

  #changed = (): void => undefined

  async #fetchNext(signal: AbortSignal): Promise<void> {
    const asked = this.#now() - this.venue.clockBehindMs()
    const { since, count } = this.#nextPage(Math.min(asked, this.ends))
    const bars = await this.venue.bars(this.#native, since, count, signal)
    const pageEnd = since + count * this.lengthMs
    if (this.#reachesBack(bars, Math.min(pageEnd, asked, this.ends), asked)) return
    this.#compareNewest(bars)
    const wanted = bars.filter(({ openTime }) => openTime >= this.#nextOpen && openTime < this.ends)
    const fresh = this.#beforeHole(wanted, asked)
    this.#keep(fresh)
    // Nothing in a page that is all past: the venue has no bars there, the next ones come later.
    if (bars.length === 0 && pageEnd <= asked) this.#nextOpen = pageEnd
    const hasPassedEnd = this.#nextOpen >= this.ends || bars.some(({ openTime }) => openTime >= this.ends)
    if (hasPassedEnd) this.#fetchedTo = FOREVER
    else this.#fetchedTo = pageEnd > asked ? Math.max(asked, this.#nextOpen) : this.#nextOpen
    this.#changed()
  }

  /** The bars up to a hole that may be filled yet: bars are emitted in order, so those after it are fetched again. */
  #beforeHole(bars: readonly Candle[], asked: number): readonly Candle[] {
    this.#waitsUntil = FOREVER
    let next = this.#nextOpen
    for (const [at, { openTime }] of bars.entries()) {
      const until = next + this.lengthMs + LATE_BAR_MS
      const isRare = next - this.#lastHole > RARE_HOLE_BARS * this.lengthMs
      if (openTime > next && asked < until && isRare && this.ends === FOREVER) {
        this.#waitsUntil = until
        return bars.slice(0, at)
      }
      if (openTime > next) this.#lastHole = openTime
      next = openTime + this.lengthMs
    }
    return bars
  }

  /** The next request: one bar more than can have closed, because venues send the open one too. */
  #nextPage(until: number): { since: number; count: number } {
    const open = Math.ceil((until - this.#nextOpen) / this.lengthMs) + 1
    // And the newest known one once more, for venues restate it at times; not where that takes another page.
    const isAgain =
      this.#newest !== undefined &&
      this.#newest.openTime === this.#nextOpen - this.lengthMs &&
      open < this.venue.pageBars
    return isAgain
      ? { since: this.#nextOpen - this.lengthMs, count: Math.max(2, open + 1) }
      : { since: this.#nextOpen, count: Math.max(2, Math.min(open, this.venue.pageBars)) }
  }

  #compareNewest(bars: readonly Candle[]): void {
    const again = this.#newest && bars.find(({ openTime }) => openTime === this.#newest?.openTime)
    if (this.#newest === undefined || again === undefined || isSameBar(this.#newest, again)) return
    // The first version stays: verdicts were computed and recorded from it.
    this.venue.faults.note(
      'restated',
      this.#native,
      `the bar of ${new Date(again.openTime).toISOString()} was restated`,
    )
    this.#newest = again
  }

  #keep(rows: readonly Candle[]): void {
    const last = rows.at(-1)
    if (last === undefined) return
    this.#nextOpen = last.openTime + this.lengthMs
    const { bars, refused } = this.#leaps.pass(rows)
    if (refused !== undefined) this.venue.faults.note('leap', this.#native, refused)
    if (bars.length === 0) return
    const page = new Float64Array(bars.length * ROW_NUMBERS)
    for (const [index, bar] of bars.entries()) {
      page.set([bar.openTime, bar.open, bar.high, bar.low, bar.close, bar.volume], index * ROW_NUMBERS)
    }
    this.#pages.push(page)
    this.#waiting += bars.length
    this.#newest = bars.at(-1)
    this.#knownTo = this.#nextOpen
  }

  readonly #headClose = (): number => {
    const [page] = this.#pages
    return page === undefined ? FOREVER : (page[this.#head] as number) + this.lengthMs
  }

  #pushHead(): void {
    const page = this.#pages[0] as Float64Array
    this.#aggregator.push(this.#source, page, this.#head)
    this.#head += ROW_NUMBERS
    this.#waiting -= 1
    if (this.#head < page.length) return
    this.#pages.shift()
    this.#head = 0
  }

  /** The earliest instant at which it has bars to tell, infinite while it has none. */
  readonly nextAt = (): number => {
    const close = this.#headClose()
    if (this.#pending >= close) return close
    const isKnownMissing = close !== FOREVER || this.#fetchedTo === FOREVER
    return isKnownMissing ? this.#pending : FOREVER
  }

  /** The bars that close at {@link BarLeg.nextAt}. May be none, where a bar served only to make longer ones. */
  readonly takeClosed = (): ClosedBar[] => {
    const at = this.nextAt()
    if (this.#headClose() === at) this.#pushHead()
    const closed = this.#aggregator.close(at)
    this.#pending = this.#aggregator.overdue(FOREVER) ?? FOREVER
    this.#changed()
    return closed.filter(({ series, candle: { openTime } }) => {
      const state = this.#states.get(seriesName(series))
      // A bar in the making when the leg ended was delivered as it was; base bars that come later are too late.
      if (state === undefined || openTime >= state.endsAt || openTime <= state.toldTo) return false
      state.toldTo = openTime
      state.bars += 1
      return true
    })
  }

  /** All bars that close up to this instant have been asked for; infinite when there are no more to come. */
  readonly fetchedTo = (): number => this.#fetchedTo

  /** When the bars after a hole are emitted without the missing ones; infinite if there is nothing to wait for. */
  readonly waitsUntil = (): number => this.#waitsUntil

  /** Close of the newest bar that came. */
  readonly knownTo = (): number => this.#knownTo

  /** Bars fetched and not told yet. */
  readonly waiting = (): number => this.#waiting

  /** Its series that have fewer bars by now than a verdict needs, though more were asked for: such as `1m 320`. */
  readonly fewBars = (): string[] =>
    this.#targets.flatMap(({ series, notBefore, endsAt, isCovered }) => {
      const { bars = 0 } = this.#states.get(seriesName(series)) ?? {}
      const wanted = (Math.min(endsAt, this.#now()) - notBefore) / timeframeMs(series.timeframe)
      const isFew = !isCovered && bars < LIMITS.warmUpBars && wanted >= LIMITS.warmUpBars
      return isFew ? [`${series.timeframe} ${bars}`] : []
    })

  /** Fetches the next page. A second call while one is under way is that one. */
  fetchPage(signal: AbortSignal): Promise<void> {
    this.#fetching ??= this.#fetchNext(signal).finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  /** No more bars are expected, until it is resumed: the market is gone, or its history cannot be loaded. */
  end(): void {
    this.#fetchedTo = FOREVER
    this.#changed()
  }

  /** The market is there again. */
  resume(): void {
    this.#fetchedTo = this.#nextOpen
    this.#changed()
  }

  // Longer bars in the making that close after the end belong to another leg.
  readonly isDone = (): boolean => this.#fetchedTo === FOREVER && this.nextAt() > this.ends

  /** Has somebody told whenever {@link BarLeg.nextAt} may be another. One at a time. */
  watch(onChange: () => void): void {
    this.#changed = onChange
  }
}

const isSameBar = (a: Candle, b: Candle): boolean =>
  a.open === b.open && a.high === b.high && a.low === b.low && a.close === b.close && a.volume === b.volume

/** Whether a leg was asked for the bar that closes last at an instant. */
export const isAskedFor = (leg: BarLeg, instant: number): boolean =>
  leg.fetchedTo() >= lastBarClose(leg.timeframe, instant)

/** For messages. */
export const legName = ({ market, timeframe }: BarLeg): string => `${marketName(market)}.${timeframe}`
