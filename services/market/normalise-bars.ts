import { type Candle, candleFault } from '../../contracts/candle.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { type Series, seriesName } from '../../contracts/series.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { readVenueNumber, type VenueNumber } from './venue-number.ts'

/** One bar as a venue sends it: numbers, or numbers written as text. `openTime` in Unix milliseconds. */
export type RawBar = { readonly [Field in keyof Candle]: VenueNumber }

/** Bars that a venue does not have. Both ends are open times of missing bars. */
export interface BarGap {
  readonly first: number
  readonly last: number
  readonly missing: number
}

export interface NormalisedBars {
  /** Closed bars, oldest first, one per open time. */
  readonly bars: readonly Candle[]
  readonly gaps: readonly BarGap[]
  /** Open times that came more than once with different values; the later row was taken. */
  readonly conflicts: readonly number[]
  /** How many rows repeated a bar, conflicts included. */
  readonly duplicates: number
  /** How many rows were of bars that are not closed yet. */
  readonly unclosed: number
}

/**
 * Brings the bars of a venue's answer into order. Venues send them oldest or newest first, repeat bars where
 * pages overlap, and end with the bar that is still forming; some leave out minutes without a trade.
 *
 * @param now the instant the answer was received, Unix milliseconds
 * @throws ServiceError `market_data_damaged` for a row that cannot be a bar of this series.
 * @example normaliseBars(newestFirst, { series, now: Date.now() }).bars.at(-1) // the newest closed bar
 */
export function normaliseBars(
  rows: readonly RawBar[],
  { series, now }: { series: Series; now: number },
): NormalisedBars {
  const lengthMs = timeframeMs(series.timeframe)
  const byOpenTime = new Map<number, Candle>()
  const conflicts = new Set<number>()
  let duplicates = 0
  let unclosed = 0
  for (const [index, row] of rows.entries()) {
    const bar = toCandle(row)
    if (bar.openTime + lengthMs > now) {
      unclosed++
      continue
    }
    const fault = candleFault(bar) ?? gridFault(bar.openTime, series)
    if (fault !== undefined) throw damagedRowError(series, index, fault)
    const earlier = byOpenTime.get(bar.openTime)
    if (earlier !== undefined) {
      duplicates++
      if (!isSameBar(earlier, bar)) conflicts.add(bar.openTime)
    }
    byOpenTime.set(bar.openTime, bar)
  }
  const bars = [...byOpenTime.values()].toSorted((a, b) => a.openTime - b.openTime)
  return {
    bars,
    gaps: gapsIn(bars, lengthMs),
    conflicts: [...conflicts].toSorted((a, b) => a - b),
    duplicates,
    unclosed,
  }
}

const toCandle = (row: RawBar): Candle => ({
  openTime: readVenueNumber(row.openTime),
  open: readVenueNumber(row.open),
  high: readVenueNumber(row.high),
  low: readVenueNumber(row.low),
  close: readVenueNumber(row.close),
  volume: readVenueNumber(row.volume),
})

const gridFault = (openTime: number, { timeframe }: Series): string | undefined =>
  openTime % timeframeMs(timeframe) === 0
    ? undefined
    : `open time ${openTime} is not on the ${timeframe} grid, which counts from midnight UTC`

const damagedRowError = (series: Series, index: number, fault: string): ServiceError =>
  new ServiceError('market_data_damaged', {
    message: `${seriesName(series)}: row ${index} of the venue's answer is not a bar: ${fault}`,
    details: { series: seriesName(series), row: index },
  })

export const isSameBar = (a: Candle, b: Candle): boolean =>
  a.open === b.open && a.high === b.high && a.low === b.low && a.close === b.close && a.volume === b.volume

function gapsIn(bars: readonly Candle[], lengthMs: number): BarGap[] {
  const gaps: BarGap[] = []
  let expected = bars[0]?.openTime ?? 0
  for (const { openTime } of bars) {
    if (openTime > expected) {
      gaps.push({ first: expected, last: openTime - lengthMs, missing: (openTime - expected) / lengthMs })
    }
    expected = openTime + lengthMs
  }
  return gaps
}
