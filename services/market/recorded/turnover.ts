import { partitionPoint } from '../../../contracts/partition-point.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import type { UniverseEntry } from '../../../contracts/universe.ts'

/** Turnover of a market by the hour. */
export type Turnover = ReturnType<typeof createTurnover>

/**
 * Sums by the hour, so that years of 1m bars take 24 bytes an hour and any instant is answered by two searches.
 */
export function createTurnover() {
  /** Ends of the hours in which a bar closed, rising. */
  const hours: number[] = []
  /** Close of the last bar of each of them. */
  const closes: number[] = []
  /** Traded up to the end of each of them, in the quote currency. */
  const totals: number[] = []

  /** Index of the last hour that ended by an instant; -1 before the first. */
  const lastBy = (instant: number): number =>
    partitionPoint(hours.length, (place) => (hours[place] as number) <= instant) - 1

  return {
    /** Takes the next bar, in order of time: its close time, its close, and its volume in coins. */
    add(barClose: number, close: number, volume: number): void {
      const hour = Math.ceil(barClose / HOUR_MS) * HOUR_MS
      const total = (totals.at(-1) ?? 0) + close * volume
      if (hours.at(-1) !== hour) {
        hours.push(hour)
        closes.push(close)
        totals.push(total)
        return
      }
      closes[closes.length - 1] = close
      totals[totals.length - 1] = total
    },

    /**
     * Volume and price change of the 24 hours before an instant, of whole hours and of bars that had closed.
     * Without a bar in that time nothing was traded and no change is known.
     */
    at(instant: number): Pick<UniverseEntry, 'quoteVolume24h' | 'change24h'> {
      const end = lastBy(instant)
      const begin = lastBy(instant - DAY_MS)
      if (end === begin) return { quoteVolume24h: 0, change24h: null }
      const quoteVolume24h = (totals[end] as number) - (totals[begin] ?? 0)
      // A price of longer ago than another day says nothing about this one.
      const isKnown = begin >= 0 && (hours[begin] as number) > instant - 2 * DAY_MS
      const change24h = isKnown ? (closes[end] as number) / (closes[begin] as number) - 1 : null
      return { quoteVolume24h, change24h }
    },
  }
}
