import { type Market, marketName, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { barOpenAt, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'

/** A series that a leg makes bars of. Open times, Unix milliseconds. */
export interface LegTarget {
  readonly series: Series
  /** Its bars open at this instant or later. */
  readonly notBefore: number
  /** And before this one; infinite for bars that keep coming. */
  readonly endsAt: number
  /** Whether the venue is sure to have its first bar, which others of the past come before. */
  readonly isCovered: boolean
}

/** Bars of one native timeframe of one market that are to be fetched, and what is made of them. */
export interface LegPlan {
  readonly market: Market
  readonly timeframe: Timeframe
  readonly begins: number
  /** Infinite for a leg that goes on live. */
  readonly ends: number
  readonly targets: readonly LegTarget[]
}

export interface LegPlanOptions {
  /** History ends and live begins at this instant. */
  readonly liveFrom: number
  /** Bars of every series before it. */
  readonly historyBars: number
  /** History reaches back to this instant at least. */
  readonly historyFrom?: number
  /** Bars of each timeframe that the venue keeps. */
  readonly keptBars: number
}

const FOREVER = Number.POSITIVE_INFINITY

/** Base timeframe of live bars: two requests a coin and hour are enough for eleven timeframes. */
const liveBase = (timeframe: Timeframe): Timeframe =>
  timeframeMs(timeframe) < timeframeMs('1h') ? '1m' : '1h'

/**
 * Base timeframes of past bars. Minutes for a fortnight and hours for 500 days would be three times as many requests,
 * and some venues do not keep them so long. All four begin at the same instants on every venue, regardless of the time
 * zone of its days.
 */
const PAST_BASES: readonly Timeframe[] = ['4h', '1h', '5m', '1m']

/** If the venue does not keep enough base bars to reach back so far, its own bars of the timeframe are fetched. */
function pastBase(timeframe: Timeframe, spanMs: number, keptBars: number): Timeframe {
  const base = PAST_BASES.find((one) => timeframeMs(one) <= timeframeMs(timeframe)) ?? timeframe
  return spanMs > keptBars * timeframeMs(base) ? timeframe : base
}

/**
 * The native bars to fetch for some series. A series that is made of other bars in the past than live changes
 * over at the bar that is open at `liveFrom`, which is live from its beginning.
 */
export function planLegs(series: readonly Series[], options: LegPlanOptions): LegPlan[] {
  const legs = new Map<string, LegPlan>()
  const unique = new Map(series.map((one) => [seriesName(one), one]))
  for (const one of unique.values()) {
    const notBefore = historyBegin(one.timeframe, options)
    const past = pastBase(one.timeframe, options.liveFrom - notBefore, options.keptBars)
    const live = liveBase(one.timeframe)
    if (past === live) {
      addTarget(legs, live, { series: one, notBefore, endsAt: FOREVER, isCovered: false })
      continue
    }
    const changes = barOpenAt(one.timeframe, options.liveFrom)
    addTarget(legs, past, { series: one, notBefore, endsAt: changes, isCovered: false })
    addTarget(legs, live, { series: one, notBefore: changes, endsAt: FOREVER, isCovered: true })
  }
  return [...legs.values()]
}

function historyBegin(timeframe: Timeframe, { liveFrom, historyBars, historyFrom }: LegPlanOptions): number {
  const usual = barOpenAt(timeframe, liveFrom) - historyBars * timeframeMs(timeframe)
  const begin = historyFrom === undefined ? usual : Math.min(usual, barOpenAt(timeframe, historyFrom))
  return Math.max(0, begin)
}

function addTarget(legs: Map<string, LegPlan>, timeframe: Timeframe, target: LegTarget): void {
  const { exchange, coin } = target.series
  const isPast = target.endsAt !== FOREVER
  const name = `${marketName(target.series)}.${timeframe}.${isPast ? 'past' : 'live'}`
  const known = legs.get(name)
  legs.set(name, {
    market: { exchange, coin },
    timeframe,
    begins: Math.min(target.notBefore, known?.begins ?? target.notBefore),
    ends: Math.max(target.endsAt, known?.ends ?? target.endsAt),
    targets: [...(known?.targets ?? []), target],
  })
}
