import type { ClosedBar } from '../../contracts/feed.ts'
import { type Market, marketName, type Series, seriesName } from '../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { createBarSlab } from './bar-slab.ts'

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

/**
 * Makes bars of longer timeframes from base bars, in UTC. A bucket that began before the first base bar is
 * left out, because it would be partial, unless the source is known to begin with it. A bucket with base bars missing inside is made of those there are, and
 * one without any stays missing.
 *
 * All numbers are exact: open, high, low and close are those of base bars, and volumes of up to eight decimals
 * are added as decimals, so a bar is the same to the last bit however many steps it was made in.
 *
 * The caller walks forward in time: at each instant it pushes the base bars that close there, having first
 * closed every bucket that is {@link BarAggregator.overdue}, and then closes the instant.
 *
 * @example
 * const bars = createBarAggregator()
 * const source = bars.add({ series: { exchange: 'SIM', coin: 'BTC', timeframe: '5m' }, base: '1m' })
 * for (let at = bars.overdue(now); at !== undefined; at = bars.overdue(now)) deliver(at, bars.close(at))
 * bars.push(source, row, 0)
 * deliver(now, bars.close(now))
 */
export interface BarAggregator {
  /** Adds a series and answers the number of its source, one and the same for a market and base timeframe. */
  add(target: AggregationTarget): number
  /**
   * Takes a base bar: six numbers from `offset`, which are open time, open, high, low, close and volume.
   *
   * @throws RangeError for a bar whose series still has an earlier bucket open: it was not closed in time.
   */
  push(source: number, rows: Float64Array, offset: number): void
  /** Earliest close of an open bucket whose time passed before an instant: its last base bar never came. */
  overdue(instant: number): number | undefined
  /** The bars that close at an instant, by timeframe and then by name of the series. */
  close(at: number): ClosedBar[]
}

/** The slots of one timeframe. All their open buckets are the same span of time. */
interface TimeframeGroup {
  /** Slot numbers, ordered by the name of their series once `isSorted`. */
  readonly slots: number[]
  isSorted: boolean
  /** Close time of the open buckets; infinite while none is open. */
  pendingClose: number
}

export function createBarAggregator(): BarAggregator {
  const slab = createBarSlab()
  const seriesOfSlot: Series[] = []
  const nameOfSlot: string[] = []
  const groupOfSlot: TimeframeGroup[] = []
  const slotsOfSource: number[][] = []
  const sourceNumbers = new Map<string, number>()
  const names = new Set<string>()
  const groups = TIMEFRAMES.map((): TimeframeGroup => ({ slots: [], isSorted: true, pendingClose: NEVER }))

  function sourceOf(market: Market, base: Timeframe): number {
    const name = `${marketName(market)}.${base}`
    const known = sourceNumbers.get(name)
    if (known !== undefined) return known
    sourceNumbers.set(name, slotsOfSource.length)
    return slotsOfSource.push([]) - 1
  }

  function add(target: AggregationTarget): number {
    const { series, base, notBefore = Number.NEGATIVE_INFINITY, isCovered = false } = target
    const name = seriesName(series)
    const lengthMs = timeframeMs(series.timeframe)
    if (lengthMs % timeframeMs(base) !== 0) throw new RangeError(`${name} cannot be made from ${base} bars`)
    if (names.has(name)) throw new RangeError(`${name} was added before`)
    names.add(name)
    const slot = slab.addSlot(lengthMs, notBefore, isCovered)
    const group = groups[TIMEFRAMES.indexOf(series.timeframe)] as TimeframeGroup
    seriesOfSlot.push(series)
    nameOfSlot.push(name)
    groupOfSlot.push(group)
    group.slots.push(slot)
    group.isSorted = false
    const source = sourceOf(series, base)
    slotsOfSource[source]?.push(slot)
    return source
  }

  function push(source: number, rows: Float64Array, offset: number): void {
    for (const slot of slotsOfSource[source] as number[]) {
      const closes = slab.take(slot, rows, offset)
      if (closes === 0) continue
      const group = groupOfSlot[slot] as TimeframeGroup
      if (group.pendingClose !== NEVER && group.pendingClose !== closes) {
        throw new RangeError(
          `${nameOfSlot[slot]}: its bar of ${group.pendingClose} was not closed before ${closes}`,
        )
      }
      group.pendingClose = closes
    }
  }

  function overdue(instant: number): number | undefined {
    let earliest = NEVER
    for (const group of groups) earliest = Math.min(earliest, group.pendingClose)
    return earliest < instant ? earliest : undefined
  }

  function close(at: number): ClosedBar[] {
    const closed: ClosedBar[] = []
    for (const group of groups) {
      if (group.pendingClose !== at) continue
      group.pendingClose = NEVER
      sortByName(group, nameOfSlot)
      for (const slot of group.slots) {
        const candle = slab.finish(slot)
        if (candle !== undefined) closed.push({ series: seriesOfSlot[slot] as Series, candle })
      }
    }
    return closed
  }

  return { add, push, overdue, close }
}

/** Sorts the slots of a group unless they are sorted already. */
function sortByName(group: TimeframeGroup, nameOfSlot: readonly string[]): void {
  if (group.isSorted) return
  group.slots.sort((a, b) => ((nameOfSlot[a] as string) < (nameOfSlot[b] as string) ? -1 : 1))
  group.isSorted = true
}
