import type { BarBatch, ClosedBar, FundingUpdate } from '../../../contracts/feed.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../../contracts/timeframes.ts'
import type { BarLeg } from './bar-leg.ts'

/** Turns what the legs have into batches. */
export interface BatchWriter {
  /** The earliest instant at which there are bars to tell; infinite while there are none. */
  nextAt(): number
  /** The close of the newest bars that were told. */
  lastAt(): number
  /** The batches of {@link BatchWriter.nextAt}: usually one. Funding that was settled by then goes with it. */
  write(): BarBatch[]
  /** Funding that was settled by an instant and not told yet, as a batch without bars. */
  writeFunding(at: number): BarBatch[]
  addFunding(updates: readonly FundingUpdate[]): void
}

export interface BatchWriterOptions {
  readonly legs: readonly BarLeg[]
  /** The series that the legs make. */
  readonly series: readonly Series[]
  /** Bars that close after it are live. */
  readonly liveFrom: number
  /** Bars are told from here on. */
  readonly begins: number
}

/** @example for (const batch of writer.write()) yield batch */
export function createBatchWriter({ legs, series, liveFrom, begins }: BatchWriterOptions): BatchWriter {
  const ranks = rankSeries(series)
  const rankOf = (bar: ClosedBar): number => ranks.get(seriesName(bar.series)) ?? 0
  let funding: FundingUpdate[] = []
  let lastAt = begins

  function nextAt(): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const leg of legs) earliest = Math.min(earliest, leg.nextAt())
    return earliest
  }

  function settledBy(at: number): FundingUpdate[] {
    const due = funding.filter((update) => update.funding.time <= at)
    if (due.length === 0) return due
    funding = funding.filter((update) => update.funding.time > at)
    return due.toSorted((a, b) => a.funding.time - b.funding.time)
  }

  /** The newest bar of a series before the seam is worth a verdict, however late it comes. */
  const isLive = (bar: ClosedBar, at: number): boolean => at + timeframeMs(bar.series.timeframe) > liveFrom

  function write(): BarBatch[] {
    const at = nextAt()
    const bars: ClosedBar[] = []
    for (const leg of legs) if (leg.nextAt() === at) bars.push(...leg.tell())
    bars.sort((a, b) => rankOf(a) - rankOf(b))
    if (at > lastAt) {
      lastAt = at
      const settled = settledBy(at)
      if (bars.length === 0 && settled.length === 0) return []
      return [{ at, phase: at > liveFrom ? 'live' : 'history', bars, funding: settled }]
    }
    const late = (phase: 'history' | 'live', some: ClosedBar[]): BarBatch[] =>
      some.length === 0 ? [] : [{ at, phase, bars: some, funding: [], isLate: true }]
    return [
      ...late(
        'history',
        bars.filter((bar) => !isLive(bar, at)),
      ),
      ...late(
        'live',
        bars.filter((bar) => isLive(bar, at)),
      ),
    ]
  }

  return {
    nextAt,
    lastAt: () => lastAt,
    write,
    writeFunding(at) {
      if (at <= lastAt) return []
      const settled = settledBy(at)
      if (settled.length === 0) return []
      lastAt = at
      return [{ at, phase: at > liveFrom ? 'live' : 'history', bars: [], funding: settled }]
    },
    addFunding(updates) {
      funding.push(...updates)
    },
  }
}

/** The place of every series in a batch: by timeframe, then by name. */
function rankSeries(series: readonly Series[]): ReadonlyMap<string, number> {
  const sorted = series.toSorted(
    (a, b) =>
      TIMEFRAMES.indexOf(a.timeframe) - TIMEFRAMES.indexOf(b.timeframe) ||
      (seriesName(a) < seriesName(b) ? -1 : 1),
  )
  return new Map(sorted.map((one, rank) => [seriesName(one), rank]))
}
