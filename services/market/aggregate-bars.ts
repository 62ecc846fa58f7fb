import type { ClosedBar } from '../../contracts/domain/feed.ts'
import { marketName, type Series, seriesName } from '../../contracts/domain/series.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { BarMaker } from './bar-maker.ts'

const NEVER = Number.POSITIVE_INFINITY

/** A series to make, and the timeframe of its market that it is made from. */
export interface AggregationTarget {
  readonly series: Series
  /** Divides the series' own timeframe, or is the same. */
  readonly base: Timeframe
  /** Bars that open before this instant are left out; Unix milliseconds. */
  readonly notBefore?: number
  /**
   * Whether every base bar there is from `notBefore` on will be pushed. A bar is whole then although its first base
   * bars are missing, because nothing was traded in them.
   */
  readonly isCovered?: boolean
}

interface Slot {
  readonly series: Series
  readonly name: string
  readonly bars: BarMaker
  readonly group: TimeframeGroup
}

/** The series of one timeframe. All their open buckets are the same span of time. */
interface TimeframeGroup {
  /** By name, once `isSorted`. */
  readonly slots: Slot[]
  isSorted: boolean
  /** Close time of the open buckets; infinite while none is open. */
  pendingClose: number
}

/**
 * Makes bars of longer timeframes from base bars, in UTC. A bucket that began before the first base bar is left out,
 * because it would be partial, unless the source is known to begin with it. One with base bars missing inside is made
 * of those there are, unless a hole cuts it off. All numbers are exact: volumes are added as decimals, however many steps a bar is made in.
 *
 * The caller walks forward in time: at each instant it closes every bucket that is {@link BarAggregator.overdue},
 * pushes the base bars that close there, and then closes the instant.
 */
export class BarAggregator {
  readonly #slotsOfSource: Slot[][] = []
  readonly #sourceNumbers = new Map<string, number>()
  readonly #names = new Set<string>()
  readonly #groups = TIMEFRAMES.map(
    (): TimeframeGroup => ({ slots: [], isSorted: true, pendingClose: NEVER }),
  )

  /** Adds a series and answers the number of its source, one and the same for a market and base timeframe. */
  add({ series, base, notBefore = -NEVER, isCovered = false }: AggregationTarget): number {
    const name = seriesName(series)
    const lengthMs = timeframeMs(series.timeframe)
    if (lengthMs % timeframeMs(base) !== 0) throw new RangeError(`${name} cannot be made from ${base} bars`)
    if (this.#names.has(name)) throw new RangeError(`${name} was added before`)
    this.#names.add(name)
    const group = this.#groups[TIMEFRAMES.indexOf(series.timeframe)] as TimeframeGroup
    const slot = {
      series,
      name,
      bars: new BarMaker(lengthMs, timeframeMs(base), notBefore, isCovered),
      group,
    }
    group.slots.push(slot)
    group.isSorted = false
    const sourceName = `${marketName(series)}.${base}`
    const source = this.#sourceNumbers.get(sourceName) ?? this.#slotsOfSource.push([]) - 1
    this.#sourceNumbers.set(sourceName, source)
    this.#slotsOfSource[source]?.push(slot)
    return source
  }

  /**
   * Takes a base bar: six numbers from `offset`, which are open time, open, high, low, close and volume.
   *
   * @throws RangeError for a bar whose series still has an earlier bucket open: it was not closed in time.
   */
  push(source: number, rows: Float64Array, offset: number): void {
    for (const { name, bars, group } of this.#slotsOfSource[source] as Slot[]) {
      const closes = bars.take(rows, offset)
      if (closes === 0) continue
      if (group.pendingClose !== NEVER && group.pendingClose !== closes)
        throw new RangeError(`${name}: its bar of ${group.pendingClose} was not closed before ${closes}`)
      group.pendingClose = closes
    }
  }

  /** Earliest close of an open bucket whose time passed before an instant: its last base bar never came. */
  overdue(instant: number): number | undefined {
    const earliest = this.#groups.reduce((least, { pendingClose }) => Math.min(least, pendingClose), NEVER)
    return earliest < instant ? earliest : undefined
  }

  /** The bars that close at an instant, by timeframe and then by name of the series. */
  close(at: number): ClosedBar[] {
    const closed: ClosedBar[] = []
    for (const group of this.#groups) {
      if (group.pendingClose !== at) continue
      group.pendingClose = NEVER
      if (!group.isSorted) group.slots.sort((a, b) => (a.name < b.name ? -1 : 1))
      group.isSorted = true
      for (const { series, bars } of group.slots) {
        const candle = bars.finish()
        if (candle !== undefined) closed.push({ series, candle })
      }
    }
    return closed
  }
}
