import type { BarBatch, ClosedBar, FundingUpdate } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createDelayQueue } from '../../runtime/async/delay-queue.ts'
import type { BarLeg } from './bar-leg.ts'

export interface BatchWriterOptions {
  readonly legs: readonly BarLeg[]
  /** The series that the legs make. */
  readonly series: readonly Series[]
  /** Bars that close after it are live. */
  readonly liveFrom: number
  /** Told of a leg whose past nobody waits for any longer. */
  readonly onGivenUp: (leg: BarLeg) => void
}

/**
 * Turns what the legs have into batches. When the past of a series is fetched by a leg of its own and comes late, its newer
 * bars are held back until the past was delivered, so that the bars of a series come in order. Once enough newer bars for
 * a verdict are held back, the past is given up.
 */
export class BatchWriter {
  readonly #options: BatchWriterOptions
  readonly #ranks: ReadonlyMap<string, number>
  readonly #pastOf: ReadonlyMap<string, BarLeg>
  readonly #held = new Map<string, ClosedBar[]>()
  /** When legs have bars to tell, and series held ones that wait for nothing any more. What has changed since is left out. */
  readonly #due = createDelayQueue<BarLeg | string>()
  readonly #queuedAt = new Map<BarLeg, number>()
  #funding: FundingUpdate[] = []
  #lastAt = 0

  constructor(options: BatchWriterOptions) {
    this.#options = options
    this.#ranks = rankSeries(this.#options.series)
    this.#pastOf = pastLegs(this.#options.legs)
    for (const leg of this.#options.legs) {
      leg.watch(() => {
        this.#requeue(leg)
        if (leg.ends !== Number.POSITIVE_INFINITY && leg.isDone()) this.#release(leg)
      })
      this.#requeue(leg)
    }
  }

  readonly #rankOf = (bar: ClosedBar): number => this.#ranks.get(seriesName(bar.series)) ?? 0

  readonly #isUpToDate = (item: BarLeg | string, at: number): boolean =>
    at === (typeof item === 'string' ? closeOfFirst(this.#held.get(item)) : this.#queuedAt.get(item))

  #requeue(leg: BarLeg): void {
    const at = leg.nextAt()
    if (at === this.#queuedAt.get(leg)) return
    this.#queuedAt.set(leg, at)
    if (at !== Number.POSITIVE_INFINITY) this.#due.add(at, leg)
  }

  /** The newer bars of series whose past has been told, or is done without, wait for nothing any more. */
  #release(past: BarLeg): void {
    for (const one of past.series) {
      const name = seriesName(one)
      for (const bar of this.#held.get(name) ?? []) this.#due.add(closeOf(bar), name)
    }
  }

  /** The earliest instant at which there are bars to tell; infinite while there are none. */
  readonly nextAt = (): number => {
    for (;;) {
      const { nextAt: at, first } = this.#due
      if (at === undefined || first === undefined) return Number.POSITIVE_INFINITY
      if (this.#isUpToDate(first, at)) return at
      this.#due.take(at)
    }
  }

  #settledBy(at: number): FundingUpdate[] {
    const settled = this.#funding.filter((update) => update.funding.time <= at)
    if (settled.length === 0) return settled
    this.#funding = this.#funding.filter((update) => update.funding.time > at)
    return settled.toSorted((a, b) => a.funding.time - b.funding.time)
  }

  /** The newest bar of a series before the seam is worth a verdict, however late it comes. */
  readonly #isLive = (bar: ClosedBar, at: number): boolean =>
    at + timeframeMs(bar.series.timeframe) > this.#options.liveFrom

  #hold(bar: ClosedBar, name: string, past: BarLeg): void {
    const waiting = this.#held.get(name) ?? []
    waiting.push(bar)
    this.#held.set(name, waiting)
    if (waiting.length < LIMITS.warmUpBars) return
    past.end()
    this.#options.onGivenUp(past)
  }

  #soundOf(leg: BarLeg): ClosedBar[] {
    this.#queuedAt.delete(leg)
    return leg.takeClosed().filter((bar) => {
      const name = seriesName(bar.series)
      const past = this.#pastOf.get(name)
      if (past === undefined || past === leg || past.isDone()) return true
      this.#hold(bar, name, past)
      return false
    })
  }

  #takeBars(at: number): ClosedBar[] {
    // Take all items before delivering any: bars that this releases follow afterwards, oldest first.
    const items: (BarLeg | string)[] = []
    for (let item = this.#due.take(at); item !== undefined; item = this.#due.take(at))
      if (this.#isUpToDate(item, at)) items.push(item)
    const bars = [...new Set(items)].flatMap((item) =>
      typeof item === 'string' ? (this.#held.get(item)?.splice(0, 1) ?? []) : this.#soundOf(item),
    )
    return bars.toSorted((a, b) => this.#rankOf(a) - this.#rankOf(b))
  }

  /** The batches of {@link BatchWriter.nextAt}: usually one. Funding that was settled by then goes with it. */
  readonly write = (): BarBatch[] => {
    const at = this.nextAt()
    const bars = this.#takeBars(at)
    if (at > this.#lastAt) {
      this.#lastAt = at
      const settled = this.#settledBy(at)
      if (bars.length === 0 && settled.length === 0) return []
      return [{ at, phase: at > this.#options.liveFrom ? 'live' : 'history', bars, funding: settled }]
    }
    const late = (phase: 'history' | 'live', some: ClosedBar[]): BarBatch[] =>
      some.length === 0 ? [] : [{ at, phase, bars: some, funding: [], isLate: true }]
    return [
      ...late(
        'history',
        bars.filter((bar) => !this.#isLive(bar, at)),
      ),
      ...late(
        'live',
        bars.filter((bar) => this.#isLive(bar, at)),
      ),
    ]
  }

  /** The close of the newest bars that were told. */
  readonly lastAt = (): number => this.#lastAt

  /** Funding that was settled by an instant and not told yet, as a batch without bars. */
  writeFunding(at: number): BarBatch[] {
    if (at <= this.#lastAt) return []
    const settled = this.#settledBy(at)
    if (settled.length === 0) return []
    this.#lastAt = at
    return [{ at, phase: at > this.#options.liveFrom ? 'live' : 'history', bars: [], funding: settled }]
  }

  addFunding(updates: readonly FundingUpdate[]): void {
    this.#funding.push(...updates)
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
