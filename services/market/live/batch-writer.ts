import type { BarBatch, ClosedBar, FundingUpdate } from '../../../contracts/feed.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../../contracts/timeframes.ts'
import { createDelayQueue } from '../../runtime/async/delay-queue.ts'
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
  /** Bars are delivered from here on. */
  readonly begins: number
  /** Told of a leg whose past nobody waits for any longer. */
  readonly onGivenUp: (leg: BarLeg) => void
}

/**
 * When the past of a series is fetched by a leg of its own and comes late, its newer bars are held back until the past
 * was delivered, so that the bars of a series come in order. Once enough newer bars for a verdict are held back, the
 * past is given up.
 *
 * @example for (const batch of writer.write()) yield batch
 */
export function createBatchWriter(options: BatchWriterOptions): BatchWriter {
  const { legs, series, liveFrom, begins, onGivenUp } = options
  const ranks = rankSeries(series)
  const rankOf = (bar: ClosedBar): number => ranks.get(seriesName(bar.series)) ?? 0
  const pastOf = pastLegs(legs)
  const held = new Map<string, ClosedBar[]>()
  /** When legs have bars to tell, and series held ones that wait for nothing any more. What has changed since is left out. */
  const due = createDelayQueue<BarLeg | string>()
  const queuedAt = new Map<BarLeg, number>()
  let funding: FundingUpdate[] = []
  let lastAt = begins

  const isUpToDate = (item: BarLeg | string, at: number): boolean =>
    at === (typeof item === 'string' ? closeOfFirst(held.get(item)) : queuedAt.get(item))

  function requeue(leg: BarLeg): void {
    const at = leg.nextAt()
    if (at === queuedAt.get(leg)) return
    queuedAt.set(leg, at)
    if (at !== Number.POSITIVE_INFINITY) due.add(at, leg)
  }

  for (const leg of legs) {
    leg.watch(() => {
      requeue(leg)
      if (leg.ends !== Number.POSITIVE_INFINITY && leg.isDone()) release(leg)
    })
    requeue(leg)
  }

  /** The newer bars of series whose past has been told, or is done without, wait for nothing any more. */
  function release(past: BarLeg): void {
    for (const one of past.series) {
      const name = seriesName(one)
      for (const bar of held.get(name) ?? []) due.add(closeOf(bar), name)
    }
  }

  function nextAt(): number {
    for (;;) {
      const { nextAt: at, first } = due
      if (at === undefined || first === undefined) return Number.POSITIVE_INFINITY
      if (isUpToDate(first, at)) return at
      due.take(at)
    }
  }

  function settledBy(at: number): FundingUpdate[] {
    const settled = funding.filter((update) => update.funding.time <= at)
    if (settled.length === 0) return settled
    funding = funding.filter((update) => update.funding.time > at)
    return settled.toSorted((a, b) => a.funding.time - b.funding.time)
  }

  /** The newest bar of a series before the seam is worth a verdict, however late it comes. */
  const isLive = (bar: ClosedBar, at: number): boolean => at + timeframeMs(bar.series.timeframe) > liveFrom

  function hold(bar: ClosedBar, name: string, past: BarLeg): void {
    const waiting = held.get(name) ?? []
    waiting.push(bar)
    held.set(name, waiting)
    if (waiting.length < LIMITS.warmUpBars) return
    past.end()
    onGivenUp(past)
  }

  function soundOf(leg: BarLeg): ClosedBar[] {
    queuedAt.delete(leg)
    return leg.takeClosed().filter((bar) => {
      const name = seriesName(bar.series)
      const past = pastOf.get(name)
      if (past === undefined || past === leg || past.isDone()) return true
      hold(bar, name, past)
      return false
    })
  }

  function takeBars(at: number): ClosedBar[] {
    // Take all items before delivering any: bars that this releases follow afterwards, oldest first.
    const items: (BarLeg | string)[] = []
    for (let item = due.take(at); item !== undefined; item = due.take(at))
      if (isUpToDate(item, at)) items.push(item)
    const bars = [...new Set(items)].flatMap((item) =>
      typeof item === 'string' ? (held.get(item)?.splice(0, 1) ?? []) : soundOf(item),
    )
    return bars.toSorted((a, b) => rankOf(a) - rankOf(b))
  }

  function write(): BarBatch[] {
    const at = nextAt()
    const bars = takeBars(at)
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

const closeOf = ({ series, candle }: ClosedBar): number => candle.openTime + timeframeMs(series.timeframe)

const closeOfFirst = (bars: readonly ClosedBar[] = []): number | undefined =>
  bars[0] === undefined ? undefined : closeOf(bars[0])

/** By series, the leg of its past, where that is another than the one that goes on. */
function pastLegs(legs: readonly BarLeg[]): ReadonlyMap<string, BarLeg> {
  const past = legs.filter(({ ends }) => ends !== Number.POSITIVE_INFINITY)
  return new Map(past.flatMap((leg) => leg.series.map((one) => [seriesName(one), leg] as const)))
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
