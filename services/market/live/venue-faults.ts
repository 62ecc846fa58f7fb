import type { Exchange } from '../../../contracts/exchanges.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { VenueFault } from '../feed.ts'

/** Counts what a venue sent that could not be used, and tells the operator of it now and then. */
export interface VenueFaults {
  /** @param times how often it occurred at once */
  note(fault: VenueFault, series: Series | undefined, message: string, times?: number): void
  counts(): Readonly<Record<VenueFault, number>>
}

/** The same fault of the same series is reported again after this time. */
const QUIET_MS = HOUR_MS

export function createVenueFaults(
  exchange: Exchange,
  now: () => number,
  report: (message: string) => void,
): VenueFaults {
  const counts: Record<VenueFault, number> = { row: 0, leap: 0, restated: 0, clock: 0 }
  const toldAt = new Map<string, number>()
  return {
    note(fault, series, message, times = 1) {
      counts[fault] += times
      const subject = series === undefined ? exchange : seriesName(series)
      const name = `${fault} ${subject}`
      const before = toldAt.get(name)
      if (before !== undefined && now() - before < QUIET_MS && before <= now()) return
      toldAt.set(name, now())
      report(`${subject}: ${message}`)
    },
    counts: () => ({ ...counts }),
  }
}
