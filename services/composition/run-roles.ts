import { join } from 'node:path'
import type { Logger } from 'pino'
import type { BarBatch } from '../../contracts/feed.ts'
import type { Series } from '../../contracts/series.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import type { Call, Verdict } from '../../contracts/verdict.ts'
import { PROJECTIONS } from '../../projections/index.ts'
import {
  createEngine,
  createRecorder,
  type EngineRun,
  loadModel,
  type Recorder,
  runEngine,
} from '../engine/index.ts'
import type { MarketFeed } from '../market/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import { type Projector, startProjector } from '../platform/projector/projector.ts'
import { openRowTables } from '../platform/projector/row-tables.ts'
import type { Platform } from './open-platform.ts'

/** Folds the log into the read models of this process. */
export function startProjections(platform: Platform, log: Logger): Projector {
  return startProjector({
    store: platform.store,
    tables: openRowTables(join(platform.directory, 'projections.db'), platform.logId),
    projections: PROJECTIONS,
    sleep,
    onProblem: (health) => log.error(health, 'projection has a problem'),
  })
}

export interface EngineRole {
  /** Settles when the market ends, or rejects when it cannot go on. */
  readonly done: Promise<EngineRun>
  /** Close of the newest bar, Unix milliseconds. */
  lastBarClose(): number | undefined
  /** Length of the shortest bar that is monitored, milliseconds: how often something is due. */
  readonly shortestBarMs: number
  calls(): Readonly<Record<Call, number>>
  readonly recorder: Recorder
}

/** Computes and records the verdicts of the monitored series. */
export function startEngine(options: {
  readonly platform: Platform
  readonly feed: MarketFeed
  readonly series: readonly Series[]
  readonly log: Logger
  readonly signal: AbortSignal
  readonly onRecorded: (verdicts: readonly Verdict[]) => void
  readonly onTrouble: (code: string) => void
}): EngineRole {
  const { platform, feed, series, signal } = options
  const calls: Record<Call, number> = { BUY: 0, SELL: 0, HOLD: 0 }
  let lastBarClose: number | undefined
  const recorder = createRecorder({
    store: platform.store,
    idOf: platform.idOf,
    sleep,
    signal,
    onTrouble(error) {
      options.log.warn({ err: error }, 'verdicts wait for the event store')
      options.onTrouble(error.code)
    },
  })
  async function* observed(batches: AsyncIterable<BarBatch>): AsyncGenerator<BarBatch, void, void> {
    for await (const batch of batches) {
      if (batch.bars.length > 0) lastBarClose = batch.at
      yield batch
    }
  }
  const done = runEngine({
    engine: createEngine({ model: loadModel() }),
    recorder,
    series,
    batches: observed(feed.batches({ series, signal })),
    onRecorded(verdicts) {
      for (const verdict of verdicts) calls[verdict.call] += 1
      options.onRecorded(verdicts)
    },
  })
  const shortestBarMs = Math.min(...series.map((one) => timeframeMs(one.timeframe)))
  return { done, lastBarClose: () => lastBarClose, shortestBarMs, calls: () => calls, recorder }
}
