import type { ClosedBar } from '../../../contracts/feed.ts'
import { type Market, marketName, seriesName } from '../../../contracts/series.ts'
import { lastBarClose, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { createBarAggregator } from '../aggregate-bars.ts'
import { ROW_NUMBERS } from '../bar-slab.ts'
import type { LegPlan } from './plan-legs.ts'
import type { Venue } from './venue.ts'

/** Bars of one native timeframe of one market: fetched in order, page by page, and told in order. */
export interface BarLeg {
  readonly venue: Venue
  readonly market: Market
  readonly timeframe: Timeframe
  readonly lengthMs: number
  readonly begins: number
  readonly ends: number
  /** All bars that close up to this instant have been asked for; infinite when there are no more to come. */
  fetchedTo(): number
  /** Close of the newest bar that came. */
  knownTo(): number
  /** Bars fetched and not told yet. */
  waiting(): number
  /** Fetches the next page. A second call while one is under way is that one. */
  fetchPage(signal: AbortSignal): Promise<void>
  /** No more bars will come: the market is gone. */
  end(): void
  /** The earliest instant at which it has bars to tell, infinite while it has none. */
  nextAt(): number
  /** The bars that close at {@link BarLeg.nextAt}. May be none, where a bar served only to make longer ones. */
  tell(): ClosedBar[]
}

const FOREVER = Number.POSITIVE_INFINITY

/**
 * A bar that is missing stays missing: a longer bar is told without it as soon as a later one has come, which
 * shows that it never will.
 *
 * @param now the present, Unix milliseconds
 */
export function createBarLeg(plan: LegPlan, venue: Venue, now: () => number): BarLeg {
  const { market, timeframe, begins, ends } = plan
  const lengthMs = timeframeMs(timeframe)
  const series = { ...market, timeframe }
  const endsOf = new Map(plan.targets.map((target) => [seriesName(target.series), target.endsAt]))
  const aggregator = createBarAggregator()
  let source = 0
  for (const target of plan.targets) {
    source = aggregator.add({ series: target.series, base: timeframe, notBefore: target.notBefore })
  }
  const pages: Float64Array[] = []
  let head = 0
  let waiting = 0
  let nextOpen = begins
  let fetchedTo = begins
  let knownTo = Number.NEGATIVE_INFINITY
  /** Close of the longer bar in the making that closes first. */
  let pending = FOREVER
  let fetching: Promise<void> | undefined

  async function fetchNext(signal: AbortSignal): Promise<void> {
    const asked = now() - venue.clockBehindMs()
    const since = nextOpen
    // One more than there can be closed: venues send the open bar too.
    const open = Math.ceil((Math.min(asked, ends) - since) / lengthMs) + 1
    const count = Math.max(2, Math.min(open, venue.pageBars))
    const { bars } = await venue.bars(series, since, count, signal)
    const rows = bars.filter(({ openTime }) => openTime >= nextOpen && openTime < ends)
    if (rows.length > 0) keep(rows)
    const pageEnd = since + count * lengthMs
    // Nothing in a page that is all past: the venue has no bars there, the next ones come later.
    if (bars.length === 0 && pageEnd <= asked) nextOpen = pageEnd
    fetchedTo = nextOpen >= ends ? FOREVER : pageEnd > asked ? Math.max(asked, nextOpen) : nextOpen
    if (bars.some(({ openTime }) => openTime >= ends)) fetchedTo = FOREVER
  }

  function keep(bars: readonly ClosedBar['candle'][]): void {
    const page = new Float64Array(bars.length * ROW_NUMBERS)
    for (const [index, bar] of bars.entries()) {
      page.set([bar.openTime, bar.open, bar.high, bar.low, bar.close, bar.volume], index * ROW_NUMBERS)
    }
    pages.push(page)
    waiting += bars.length
    nextOpen = (bars.at(-1)?.openTime ?? nextOpen) + (bars.length > 0 ? lengthMs : 0)
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

  function tell(): ClosedBar[] {
    const at = nextAt()
    if (headClose() === at) pushHead()
    const closed = aggregator.close(at)
    pending = aggregator.overdue(FOREVER) ?? FOREVER
    return closed.filter((bar) => bar.candle.openTime < (endsOf.get(seriesName(bar.series)) ?? FOREVER))
  }

  return {
    venue,
    market,
    timeframe,
    lengthMs,
    begins,
    ends,
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
    },
    nextAt,
    tell,
  }
}

/** Whether a leg was asked for the bar that closes last at an instant. */
export const isAskedFor = (leg: BarLeg, instant: number): boolean =>
  leg.fetchedTo() >= lastBarClose(leg.timeframe, instant)

/** For messages. */
export const legName = ({ market, timeframe }: BarLeg): string => `${marketName(market)}.${timeframe}`
