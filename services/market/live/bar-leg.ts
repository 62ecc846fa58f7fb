import type { Candle } from '../../../contracts/candle.ts'
import type { ClosedBar } from '../../../contracts/feed.ts'
import { type Market, marketName, type Series, seriesName } from '../../../contracts/series.ts'
import { lastBarClose, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { createBarAggregator } from '../aggregate-bars.ts'
import { ROW_NUMBERS } from '../bar-slab.ts'
import { keptBar } from './kept/kept-bar.ts'
import type { KeptBars } from './kept/kept-bars.ts'
import type { PositionBook } from './kept/position-book.ts'
import { createLeapFilter } from './leap-filter.ts'
import type { LegPlan } from './plan-legs.ts'
import type { Venue, VenueBars } from './venue.ts'

/** Bars of one native timeframe of one market: fetched in order, page by page, and told in order. */
export interface BarLeg {
  readonly venue: Venue
  readonly market: Market
  readonly timeframe: Timeframe
  readonly lengthMs: number
  readonly begins: number
  /** Infinite where bars keep coming. */
  readonly ends: number
  /** The series made of its bars. */
  readonly series: readonly Series[]
  /** All bars that close up to this instant have been asked for; infinite when there are no more to come. */
  fetchedTo(): number
  /** Close of the newest bar that came. */
  knownTo(): number
  /** Bars fetched and not told yet. */
  waiting(): number
  /** Fetches the next page. A second call while one is under way is that one. */
  fetchPage(signal: AbortSignal): Promise<void>
  /** No more bars are expected, until it is resumed: the market is gone, or its history cannot be loaded. */
  end(): void
  /** The market is there again. */
  resume(): void
  /** For a leg with an end: whether all its bars were delivered and no more are expected. */
  isDone(): boolean
  /** The earliest instant at which it has bars to tell, infinite while it has none. */
  nextAt(): number
  /** The bars that close at {@link BarLeg.nextAt}. May be none, where a bar served only to make longer ones. */
  takeClosed(): ClosedBar[]
  /** Has somebody told whenever {@link BarLeg.nextAt} may be another. One at a time. */
  watch(onChange: () => void): void
}

/** The kept bars that a leg reads before it asks the venue, and to which it adds its own if there is a book. */
export interface BarKeeper {
  readonly kept: KeptBars
  /** Open interest and mark to keep with live bars; without it no bars are kept. */
  readonly book?: PositionBook
}

/** Number of missing bars from which on kept ones are read before the venue is asked. */
const WORTH_LOOKING = 3

/** Timeframes that are kept; the others are made of them. */
const KEPT_TIMEFRAMES: ReadonlySet<Timeframe> = new Set<Timeframe>(['1m', '1h'])

const FOREVER = Number.POSITIVE_INFINITY

/**
 * A missing bar stays missing: as soon as a later bar has come, the longer bar is delivered without it.
 *
 * @param now the present, Unix milliseconds
 */
export function createBarLeg(plan: LegPlan, venue: Venue, now: () => number, keeper?: BarKeeper): BarLeg {
  const { market, timeframe, begins, ends } = plan
  const lengthMs = timeframeMs(timeframe)
  const native = { ...market, timeframe }
  const endsOf = new Map(plan.targets.map((target) => [seriesName(target.series), target.endsAt]))
  const toldTo = new Map<string, number>()
  const aggregator = createBarAggregator()
  let source = 0
  for (const { series, notBefore, isCovered } of plan.targets) {
    source = aggregator.add({ series, base: timeframe, notBefore, isCovered })
  }
  const leaps = createLeapFilter()
  const pages: Float64Array[] = []
  let head = 0
  let waiting = 0
  let nextOpen = begins
  let fetchedTo = begins
  let knownTo = Number.NEGATIVE_INFINITY
  /** The newest bar that came, which the venue may still restate. */
  let newest: Candle | undefined
  /** Close of the longer bar in the making that closes first. */
  let pending = FOREVER
  let fetching: Promise<void> | undefined
  let changed = (): void => undefined

  async function fetchNext(signal: AbortSignal): Promise<void> {
    const asked = now() - venue.clockBehindMs()
    if (await takeKept(Math.min(asked, ends))) return
    const { since, count } = nextPage(Math.min(asked, ends))
    const { bars, flow } = await venue.bars(native, since, count, signal)
    compareNewest(bars)
    const fresh = bars.filter(({ openTime }) => openTime >= nextOpen && openTime < ends)
    keep(fresh)
    hand(fresh, flow)
    const pageEnd = since + count * lengthMs
    // Nothing in a page that is all past: the venue has no bars there, the next ones come later.
    if (bars.length === 0 && pageEnd <= asked) nextOpen = pageEnd
    const hasPassedEnd = nextOpen >= ends || bars.some(({ openTime }) => openTime >= ends)
    if (hasPassedEnd) fetchedTo = FOREVER
    else fetchedTo = pageEnd > asked ? Math.max(asked, nextOpen) : nextOpen
    changed()
  }

  /** Takes what was kept of the bars up to an instant, as far as it goes on without a gap. */
  async function takeKept(until: number): Promise<boolean> {
    const behind = Math.floor((until - nextOpen) / lengthMs)
    if (keeper === undefined || behind < WORTH_LOOKING) return false
    const bars = await keeper.kept.read(native, nextOpen, behind)
    if (bars.length === 0) return false
    keep(bars)
    fetchedTo = nextOpen >= ends ? FOREVER : nextOpen
    changed()
    return true
  }

  /** Hands bars over to be kept, with what the venue said of them; nobody waits for that. */
  function hand(bars: readonly Candle[], flow: VenueBars['flow']): void {
    const { kept, book } = keeper ?? {}
    if (kept === undefined || book === undefined || !KEPT_TIMEFRAMES.has(timeframe)) return
    book.refresh()
    const own = bars.map((bar) => {
      const positions = book.during(market.coin, bar.openTime, bar.openTime + lengthMs)
      return keptBar(bar, { ...flow.get(bar.openTime), ...positions })
    })
    if (own.length > 0) void kept.keep(native, own)
  }

  /** The next request: one bar more than can have closed, because venues send the open one too. */
  function nextPage(until: number): { since: number; count: number } {
    const open = Math.ceil((until - nextOpen) / lengthMs) + 1
    // And the newest known one once more, for venues restate it at times; not where that takes another page.
    const isAgain = newest !== undefined && newest.openTime === nextOpen - lengthMs && open < venue.pageBars
    return isAgain
      ? { since: nextOpen - lengthMs, count: Math.max(2, open + 1) }
      : { since: nextOpen, count: Math.max(2, Math.min(open, venue.pageBars)) }
  }

  function compareNewest(bars: readonly Candle[]): void {
    const again = newest && bars.find(({ openTime }) => openTime === newest?.openTime)
    if (newest === undefined || again === undefined || isSameBar(newest, again)) return
    // The first version stays: verdicts were computed and recorded from it.
    venue.faults.note('restated', native, `the bar of ${new Date(again.openTime).toISOString()} was restated`)
    newest = again
  }

  function keep(rows: readonly Candle[]): void {
    const last = rows.at(-1)
    if (last === undefined) return
    nextOpen = last.openTime + lengthMs
    const { bars, refused } = leaps.pass(rows)
    if (refused !== undefined) venue.faults.note('leap', native, refused)
    if (bars.length === 0) return
    const page = new Float64Array(bars.length * ROW_NUMBERS)
    for (const [index, bar] of bars.entries()) {
      page.set([bar.openTime, bar.open, bar.high, bar.low, bar.close, bar.volume], index * ROW_NUMBERS)
    }
    pages.push(page)
    waiting += bars.length
    newest = bars.at(-1)
    knownTo = nextOpen
  }

  const headClose = (): number => {
    const [page] = pages
    return page === undefined ? FOREVER : (page[head] as number) + lengthMs
  }

  function pushHead(): void {
    const page = pages[0] as Float64Array
    aggregator.push(source, page, head)
    head += ROW_NUMBERS
    waiting -= 1
    if (head < page.length) return
    pages.shift()
    head = 0
  }

  function nextAt(): number {
    const close = headClose()
    if (pending >= close) return close
    const isKnownMissing = close !== FOREVER || fetchedTo === FOREVER
    return isKnownMissing ? pending : FOREVER
  }

  function takeClosed(): ClosedBar[] {
    const at = nextAt()
    if (headClose() === at) pushHead()
    const closed = aggregator.close(at)
    pending = aggregator.overdue(FOREVER) ?? FOREVER
    changed()
    return closed.filter(({ series, candle: { openTime } }) => {
      const name = seriesName(series)
      // A bar in the making when the leg ended was delivered as it was; base bars that come later are too late.
      if (openTime >= (endsOf.get(name) ?? FOREVER) || openTime <= (toldTo.get(name) ?? -1)) return false
      toldTo.set(name, openTime)
      return true
    })
  }

  return {
    venue,
    market,
    timeframe,
    lengthMs,
    begins,
    ends,
    series: plan.targets.map(({ series }) => series),
    fetchedTo: () => fetchedTo,
    knownTo: () => knownTo,
    waiting: () => waiting,
    fetchPage(signal) {
      fetching ??= fetchNext(signal).finally(() => {
        fetching = undefined
      })
      return fetching
    },
    end() {
      fetchedTo = FOREVER
      changed()
    },
    resume() {
      fetchedTo = nextOpen
      changed()
    },
    // Longer bars in the making that close after the end belong to another leg.
    isDone: () => fetchedTo === FOREVER && nextAt() > ends,
    nextAt,
    takeClosed,
    watch(onChange) {
      changed = onChange
    },
  }
}

const isSameBar = (a: Candle, b: Candle): boolean =>
  a.open === b.open && a.high === b.high && a.low === b.low && a.close === b.close && a.volume === b.volume

/** Whether a leg was asked for the bar that closes last at an instant. */
export const isAskedFor = (leg: BarLeg, instant: number): boolean =>
  leg.fetchedTo() >= lastBarClose(leg.timeframe, instant)

/** For messages. */
export const legName = ({ market, timeframe }: BarLeg): string => `${marketName(market)}.${timeframe}`
