import type { Candle } from '../../../contracts/candle.ts'
import type { BarBatch, FundingUpdate } from '../../../contracts/feed.ts'
import { marketName, type Series, seriesName } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { batchesOf } from '../../platform/async/batches.ts'
import { mapInTurns } from '../../platform/async/map-in-turns.ts'
import type { Board } from '../board.ts'
import type { Engine, MarketMetrics, VerdictDraft } from '../engine.ts'
import type { OutcomeRecorder } from './outcome-recorder.ts'
import type { Recorded, Recorder } from './recorder.ts'

/**
 * Engine, recorders and board may be shared by several runs at a time, each with series of its own: a series
 * is in one run only.
 */
export interface RunEngineOptions {
  readonly engine: Engine
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
  /** Told of every funding settlement in the batches, also of markets that no series belongs to. */
  readonly onFunding?: (updates: readonly FundingUpdate[]) => void
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
}

/**
 * Bars that are ready together are computed together and recorded in one append per series; a feed that
 * waits for the clock gives them one by one.
 */
const BATCHES_AT_ONCE = 64
/** A batch of a large universe counts as many, so that the bars that wait together stay bounded. */
const BARS_PER_BATCH = 256
const weightOf = ({ bars }: BarBatch): number => Math.max(1, bars.length / BARS_PER_BATCH)
/** Series recorded at a time: many share a commit, and the store's queue has room for others. */
const SERIES_AT_ONCE = 4_096

/** A series of this run; bars and drafts are those that wait to be recorded. */
interface Followed {
  readonly series: Series
  readonly slot: number
  readonly barMs: number
  isLive: boolean
  /** Whether the board is still to learn that it is. */
  isNewlyLive: boolean
  bars: number
  barClose: number | undefined
  waiting: Candle[]
  drafts: VerdictDraft[]
  /** What was measured at the newest draft's bar. */
  metrics: MarketMetrics | undefined
}

/** What a series brought since it was looked at last. */
type Step = Pick<Followed, 'series'> & { readonly bars: Candle[]; readonly recorded: Recorded | undefined }

/**
 * Follows a market: every closed bar advances its series, and every live bar's verdict is recorded, HOLDs
 * included, and labelled when its window has closed. At the seam between history and live the newest verdict
 * of every series is recorded at once. Ends with the batches.
 *
 * @throws whatever the batches fail with; ServiceError of the store, but not for what passes by itself
 */
export async function runEngine(options: RunEngineOptions): Promise<EngineRun> {
  const { engine, outcomes } = options
  const followed = openSeries(options)
  const counts = { bars: 0, recorded: 0, known: 0, labelled: 0 }
  const take = createIntake(options, followed, counts)
  let labelling: Promise<void> = Promise.resolve()

  async function label(steps: readonly Step[]): Promise<void> {
    const added = await mapInTurns(steps, SERIES_AT_ONCE, ({ series, bars, recorded }) =>
      outcomes.label(series, bars, recorded),
    )
    for (const count of added) counts.labelled += count
  }

  try {
    for await (const group of batchesOf(options.batches, BATCHES_AT_ONCE, weightOf)) {
      for (const batch of group) take(batch)
      const changed = [...followed.values()].filter(hasNews)
      const steps = await mapInTurns(changed, SERIES_AT_ONCE, (one) => recordStep(options, one, counts))
      for (const { barClose } of changed) if (barClose !== undefined) options.board.reach(barClose)
      const added = steps.flatMap(({ recorded }) => recorded?.added ?? [])
      if (added.length > 0) options.onRecorded?.(added.toSorted((a, b) => a.barClose - b.barClose))
      await labelling
      labelling = label(steps)
      // Where more is ready, outcomes share the commits of the next verdicts; a failure is met behind those.
      labelling.catch(() => undefined)
      if (group.reduce((sum, batch) => sum + weightOf(batch), 0) < BATCHES_AT_ONCE) await labelling
    }
    await labelling
    const short = [...followed].filter(([, { slot }]) => engine.read(slot).status !== 'verdict')
    return { ...counts, withoutVerdict: short.map(([name]) => name) }
  } finally {
    // Nothing of this run goes on behind its end; what it failed with, if it did, is thrown already.
    await Promise.allSettled([labelling])
    closeSeries(options, followed)
  }
}

function openSeries({ engine, board, series }: RunEngineOptions): Map<string, Followed> {
  const followed = new Map<string, Followed>()
  for (const one of series) {
    const slot = engine.open(one)
    const barMs = timeframeMs(one.timeframe)
    const nothing = {
      isLive: false,
      isNewlyLive: false,
      bars: 0,
      barClose: undefined,
      waiting: [],
      drafts: [],
      metrics: undefined,
    }
    followed.set(seriesName(one), { series: one, slot, barMs, ...nothing })
    board.put({ series: one, isLive: false, bars: 0, barClose: undefined, recorded: undefined })
  }
  return followed
}

function closeSeries(
  { engine, board, recorder, outcomes }: RunEngineOptions,
  followed: ReadonlyMap<string, Followed>,
): void {
  for (const { series, slot } of followed.values()) {
    engine.close(slot)
    board.remove(series)
    recorder.release(series)
    outcomes.release(series)
  }
}

/** Whether a series has something to record or, at the seam, to say. */
const hasNews = ({ waiting, drafts, isNewlyLive }: Followed): boolean =>
  waiting.length + drafts.length > 0 || isNewlyLive

/** Computes the batches of a run one by one, keeping with each series what is to be recorded. */
function createIntake(
  { engine, onFunding }: RunEngineOptions,
  followed: ReadonlyMap<string, Followed>,
  counts: { bars: number },
): (batch: BarBatch) => void {
  const slots = new Map<string, number[]>()
  for (const { series, slot } of followed.values()) {
    const market = marketName(series)
    slots.set(market, [...(slots.get(market) ?? []), slot])
  }
  let isLive = false

  function draft(one: Followed): void {
    const reading = engine.read(one.slot)
    if (reading.status !== 'verdict') return
    one.drafts.push(reading.verdict)
    one.metrics = reading.metrics
  }

  return (batch) => {
    if (batch.phase === 'live' && !isLive) {
      isLive = true
      for (const one of followed.values()) {
        one.isLive = true
        one.isNewlyLive = true
        draft(one)
      }
    }
    // What settles as a bar closes counts for that bar; another run may be at another instant.
    for (const { market, funding } of batch.funding) {
      engine.pushFunding(market, funding, slots.get(marketName(market)) ?? [])
    }
    if (batch.funding.length > 0) onFunding?.(batch.funding)
    for (const { series, candle } of batch.bars) {
      const one = followed.get(seriesName(series))
      if (one === undefined) continue
      engine.push(one.slot, candle)
      counts.bars += 1
      one.bars += 1
      one.barClose = candle.openTime + one.barMs
      one.waiting.push(candle)
      // Late history of a venue that was away at the start comes behind the seam.
      if (batch.phase === 'live') draft(one)
    }
  }
}

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
  counts.recorded += added
  counts.known += drafts.length - added
  const newest = recorded?.end.newest
  // The log may be ahead, of a process that is quicker or of a market that is replayed: what was measured
  // here belongs to an earlier bar then, and the series is brought to the board when it gets there.
  const isHere = newest !== undefined && metrics !== undefined && newest.barClose === barClose
  const current = isHere ? { verdict: newest, metrics } : board.get(series)?.recorded
  board.put({ series, isLive, bars, barClose, recorded: current })
  return { series, bars: waiting, recorded }
}
