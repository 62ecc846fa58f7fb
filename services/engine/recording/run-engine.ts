import type { BarBatch } from '../../../contracts/feed.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { batchesOf } from '../../platform/async/batches.ts'
import type { Engine, VerdictDraft } from '../engine.ts'
import type { Recorder } from './recorder.ts'

export interface RunEngineOptions {
  readonly engine: Engine
  readonly recorder: Recorder
  /** The series to follow. */
  readonly series: readonly Series[]
  /** Their bars: history, an empty live batch at the seam, then live bars. */
  readonly batches: AsyncIterable<BarBatch>
  /** Told after the verdicts of a bar are durable. */
  readonly onRecorded?: (verdicts: readonly Verdict[]) => void
}

export interface EngineRun {
  readonly bars: number
  readonly recorded: number
  /** Verdicts for whose bar the log had one already, or had one of a later bar. */
  readonly known: number
  /** Series that ended without enough bars for a verdict. */
  readonly withoutVerdict: readonly string[]
}

/**
 * Bars that are ready together are computed together and recorded in one append per series; a feed that
 * waits for the clock gives them one by one.
 */
const BATCHES_AT_ONCE = 64

/**
 * Follows a market: every closed bar advances its series, and every live bar's verdict is recorded, HOLDs
 * included. At the seam between history and live the newest verdict of every series is recorded at once.
 * Ends with the batches.
 */
export async function runEngine(options: RunEngineOptions): Promise<EngineRun> {
  const { engine, recorder } = options
  const slots = new Map(
    options.series.map((series) => [seriesName(series), { series, slot: engine.open(series) }]),
  )
  const counts = { bars: 0, recorded: 0, known: 0 }
  let isLive = false

  const draftOf = (slot: number): VerdictDraft[] => {
    const reading = engine.read(slot)
    return reading.status === 'verdict' ? [reading.verdict] : []
  }

  /** Computes one batch, adding the verdicts that are to be recorded. */
  function take(batch: BarBatch, drafts: Map<string, VerdictDraft[]>): void {
    if (batch.phase === 'live' && !isLive) {
      isLive = true
      for (const [name, { slot }] of slots) drafts.set(name, draftOf(slot))
    }
    // What settles as a bar closes counts for that bar.
    for (const { market, funding } of batch.funding) engine.pushFunding(market, funding)
    for (const { series, candle } of batch.bars) {
      const name = seriesName(series)
      const followed = slots.get(name)
      if (followed === undefined) continue
      engine.push(followed.slot, candle)
      counts.bars += 1
      if (isLive) drafts.set(name, [...(drafts.get(name) ?? []), ...draftOf(followed.slot)])
    }
  }

  async function record(drafts: ReadonlyMap<string, readonly VerdictDraft[]>): Promise<void> {
    const added = await Promise.all(
      [...slots].map(async ([name, { series }]) => {
        const own = drafts.get(name) ?? []
        const verdicts = own.length === 0 ? [] : await recorder.record(series, own)
        counts.recorded += verdicts.length
        counts.known += own.length - verdicts.length
        return verdicts
      }),
    )
    const verdicts = added.flat().toSorted((a, b) => a.barClose - b.barClose)
    if (verdicts.length > 0) options.onRecorded?.(verdicts)
  }

  try {
    for await (const group of batchesOf(options.batches, BATCHES_AT_ONCE)) {
      const drafts = new Map<string, VerdictDraft[]>()
      for (const batch of group) take(batch, drafts)
      await record(drafts)
    }
    const withoutVerdict = [...slots].filter(([, { slot }]) => engine.read(slot).status !== 'verdict')
    return { ...counts, withoutVerdict: withoutVerdict.map(([name]) => name) }
  } finally {
    for (const { slot } of slots.values()) engine.close(slot)
  }
}
