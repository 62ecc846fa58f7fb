import type { Candle } from '../../../contracts/domain/candle.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { batchesOf } from '../../runtime/async/batches.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { Board } from '../board.ts'
import { createIntake, type Followed, type IntakeOptions } from './intake.ts'
import type { OutcomeRecorder } from './outcome-recorder.ts'
import type { Recorded, Recorder } from './recorder.ts'

/**
 * Engine, recorders and board may be shared by several runs at a time, each with series of its own: a series
 * is in one run only.
 */
export interface RunEngineOptions extends IntakeOptions {
  readonly recorder: Recorder
  /** Labels the verdicts whose window a bar closes; history bars serve the verdicts of earlier runs. */
  readonly outcomes: OutcomeRecorder
  /** Says what every series of this run says now, until the run ends. */
  readonly board: Board
  /** The series to follow. */
  readonly series: readonly Series[]
  /** Their bars: history, an empty live batch at the seam, then live bars. */
  readonly batches: AsyncIterable<BarBatch>
  /** Told after the verdicts of a bar are durable and on the board. */
  readonly onRecorded?: (verdicts: readonly Verdict[]) => void
  /** Told when a series was closed because of its own fault; the others go on. */
  readonly onClosed?: (series: Series, error: ServiceError) => void
}

export interface EngineRun {
  readonly bars: number
  readonly recorded: number
  /** Verdicts for whose bar the log had one already, or had one of a later bar. */
  readonly known: number
  /** Outcomes that this run added. */
  readonly labelled: number
  /** Series that ended without enough bars for a verdict. */
  readonly withoutVerdict: readonly string[]
  /** Series that were closed because of a fault of their own. */
  readonly closed: readonly string[]
}

export const NOTHING_RUN: EngineRun = {
  bars: 0,
  recorded: 0,
  known: 0,
  labelled: 0,
  withoutVerdict: [],
  closed: [],
}

/** Two runs as one. */
export const together = (a: EngineRun, b: EngineRun): EngineRun => ({
  bars: a.bars + b.bars,
  recorded: a.recorded + b.recorded,
  known: a.known + b.known,
  labelled: a.labelled + b.labelled,
  withoutVerdict: [...a.withoutVerdict, ...b.withoutVerdict],
  closed: [...new Set([...a.closed, ...b.closed])],
})

/**
 * Bars that are ready together are computed together and recorded in one append per series; a feed that
 * waits for the clock gives them one by one.
 */
const BATCHES_AT_ONCE = 256
/**
 * A batch of a large universe counts as many, so that the bars that wait together stay bounded. Those of a run are all
 * recorded: callers wait while they are.
 */
const BARS_PER_BATCH = { history: 64, run: 4, live: 64 } as const
const weightOf = ({ bars, phase }: BarBatch): number => Math.max(1, bars.length / BARS_PER_BATCH[phase])
/** Series recorded at a time: two commits, so that the events of one are made while the other is written. */
const SERIES_AT_ONCE = 2 * LIMITS.commitAppends

/** Bars and verdicts of a series since the last step. */
interface Step {
  readonly one: Followed
  readonly bars: Candle[]
  readonly recorded: Recorded | undefined
}

/**
 * Follows a market: every closed bar advances its series, and every live bar's verdict is recorded, HOLDs included, and
 * labelled when its window has closed. At the seam between history and live the newest verdict of every series is
 * recorded at once. A series that cannot be computed, recorded or labelled is closed, and the others go on. Ends with
 * the batches, or when no series is left.
 *
 * @throws the error of the batches
 */
export async function runEngine(options: RunEngineOptions): Promise<EngineRun> {
  const { engine, outcomes } = options
  const counts = { bars: 0, recorded: 0, known: 0, labelled: 0 }
  const closed: string[] = []
  const followed = new Map<string, Followed>()
  for (const series of options.series) openSeries(options, series, followed, closed)
  const take = createIntake(options, followed, counts)
  let labelling: Promise<void> = Promise.resolve()

  async function label(steps: readonly Step[]): Promise<void> {
    await mapConcurrently(steps, SERIES_AT_ONCE, ({ one, bars, recorded }) =>
      keptApart(one, async () => {
        const labelled = await outcomes.label(one.series, bars, recorded)
        // Added in one step: several series are labelled at a time.
        counts.labelled += labelled
      }),
    )
  }

  /** Until labelling is done, something of a series may be under way. */
  async function endFaulty(): Promise<void> {
    await labelling
    for (const [name, one] of followed) {
      if (one.fault === undefined) continue
      followed.delete(name)
      closed.push(name)
      closeSeries(options, one)
      options.onClosed?.(one.series, seriesError(one.series, one.fault))
    }
  }

  try {
    for await (const group of batchesOf(options.batches, BATCHES_AT_ONCE, weightOf)) {
      for (const batch of group) take(batch)
      const changed = [...followed.values()].filter(hasNews)
      const tried = await mapConcurrently(changed, SERIES_AT_ONCE, (one) =>
        keptApart(one, () => recordStep(options, one, counts)),
      )
      const steps = tried.filter((step) => step !== undefined)
      for (const { barClose } of changed) if (barClose !== undefined) options.board.raiseWatermark(barClose)
      const added = steps.flatMap(({ recorded }) => recorded?.added ?? [])
      if (added.length > 0) options.onRecorded?.(added.toSorted((a, b) => a.barClose - b.barClose))
      await endFaulty()
      // Outcomes share the commits of the next verdicts while more batches are ready.
      labelling = label(steps.filter(({ one }) => one.fault === undefined))
      if (group.reduce((sum, batch) => sum + weightOf(batch), 0) < BATCHES_AT_ONCE) await endFaulty()
      if (followed.size === 0 && closed.length > 0) break
    }
    await endFaulty()
    const short = [...followed].filter(([, { opened }]) => engine.read(opened).status !== 'verdict')
    return { ...counts, withoutVerdict: short.map(([name]) => name), closed }
  } finally {
    // No work of this run goes on after its end.
    await labelling
    for (const one of followed.values()) closeSeries(options, one)
  }
}

/** An error of the work on one series is stored with that series. */
async function keptApart<Value>(one: Followed, work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work()
  } catch (error) {
    one.fault = error
    return undefined
  }
}

/** Why a series cannot be followed. */
export function seriesError(series: Series, fault: unknown): ServiceError {
  if (isServiceError(fault)) return fault
  return new ServiceError('internal_error', {
    message: `${seriesName(series)} cannot be followed: ${reasonOf(fault)}`,
    details: { series: seriesName(series) },
    cause: fault,
  })
}

function openSeries(
  { engine, board, onClosed }: RunEngineOptions,
  series: Series,
  followed: Map<string, Followed>,
  closed: string[],
): void {
  const name = seriesName(series)
  try {
    followed.set(name, {
      series,
      opened: engine.open(series),
      barMs: timeframeMs(series.timeframe),
      isLive: false,
      isNewlyLive: false,
      bars: 0,
      barClose: undefined,
      waiting: [],
      drafts: [],
      metrics: undefined,
      refusedInARow: 0,
      fault: undefined,
    })
    board.put({ series, isLive: false, bars: 0, barClose: undefined, recorded: undefined })
  } catch (fault) {
    closed.push(name)
    onClosed?.(series, seriesError(series, fault))
  }
}

function closeSeries(
  { engine, board, recorder, outcomes }: RunEngineOptions,
  { series, opened }: Followed,
): void {
  engine.close(opened)
  board.remove(series)
  recorder.release(series)
  outcomes.release(series)
}

/** Whether a series has something to record or, at the seam, to say. */
const hasNews = ({ waiting, drafts, isNewlyLive, fault }: Followed): boolean =>
  fault === undefined && (waiting.length + drafts.length > 0 || isNewlyLive)

/** Records what a series has waiting, and brings it to the board once that is durable. */
async function recordStep(
  { recorder, board }: RunEngineOptions,
  one: Followed,
  counts: { recorded: number; known: number },
): Promise<Step> {
  const { series, isLive, waiting, drafts, bars, barClose, metrics } = one
  one.waiting = []
  one.drafts = []
  one.isNewlyLive = false
  const recorded = drafts.length === 0 ? undefined : await recorder.record(series, drafts)
  const added = recorded?.added.length ?? 0
  assert(added <= drafts.length, 'no more verdicts are recorded than were computed', added)
  counts.recorded += added
  counts.known += drafts.length - added
  const newest = recorded?.end.newest
  // The log may be ahead, of a process that is quicker or of a market that is replayed: what was measured
  // here belongs to an earlier bar then, and the series is brought to the board when it gets there.
  const isHere = newest !== undefined && metrics !== undefined && newest.barClose === barClose
  const current = isHere ? { verdict: newest, metrics } : board.get(series)?.recorded
  // A series that began anew after a hole has no verdict of its present bars.
  board.put({ series, isLive, bars, barClose, recorded: metrics === undefined ? undefined : current })
  return { one, bars: waiting, recorded }
}
