import type { BarBatch, FundingUpdate } from '../../../contracts/domain/feed.ts'
import { marketName, type Series } from '../../../contracts/domain/series.ts'
import type { Call } from '../../../contracts/domain/verdict.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { type Board, type EngineRun, runEngine } from '../../engine/index.ts'
import type { EngineDeps, EngineParts } from './engine-parts.ts'
import { planRun } from './market-run.ts'

/** Runs over series of the market, and their results so far. */
export type EngineRuns = ReturnType<typeof createEngineRuns>

export interface EngineRunsOptions {
  /** Done before anything is recorded. */
  readonly announceModel: () => Promise<void>
  /** Series that callers wait for. */
  readonly awaited: () => Iterable<Series>
}

export function createEngineRuns(
  deps: EngineDeps,
  parts: EngineParts,
  { announceModel, awaited }: EngineRunsOptions,
) {
  const { feed, log, counters, terminal } = deps
  const { engine, recorder, outcomes, funding, prices, clock, announcer } = parts
  const calls: Record<Call, number> = { BUY: 0, SELL: 0, HOLD: 0 }
  const reportedRefusals = new Set<string>()
  let lastBarClose: number | undefined
  /** History that warms up is old by nature, and says nothing of how late the market is. */
  let isWarm = false

  async function* batchesOf(series: readonly Series[], until: AbortSignal): AsyncGenerator<BarBatch> {
    const historyFrom = await outcomes.historyFrom(series, clock())
    const from = historyFrom === undefined ? {} : { historyFrom }
    let isRun = false
    const plan = await planRun(deps, series, until)
    const runs = { runFrom: plan?.runFrom, awaited }
    for await (const batch of feed.batches({ series, signal: until, ...from, ...runs })) {
      if (batch.phase === 'run' && !isRun) {
        isRun = true
        await announcer.announceRun(plan?.earliest() ?? batch.at, clock())
      }
      for (const bar of batch.bars) prices.take(bar)
      isWarm ||= batch.phase === 'live'
      if (batch.bars.length > 0) lastBarClose = Math.max(lastBarClose ?? 0, batch.at)
      yield batch
    }
  }

  const reporting: Pick<Parameters<typeof runEngine>[0], 'onFunding' | 'onRefused' | 'onRecorded'> = {
    onFunding(updates: readonly FundingUpdate[]) {
      for (const update of updates) funding.take(update)
    },
    onRefused(market, fault, reason) {
      const kind = `${marketName(market)} ${fault}`
      if (reportedRefusals.has(kind)) return
      reportedRefusals.add(kind)
      log.warn({ fault, reason }, 'market data refused; more of its kind is not reported')
    },
    onRecorded(verdicts) {
      for (const verdict of verdicts) calls[verdict.call] += 1
      counters.verdictsRecorded(verdicts)
      // The line of progress counts the verdicts of a run.
      const ranTo = feed.ranTo?.() ?? 0
      terminal.verdicts(verdicts.filter(({ barClose }) => barClose > ranTo))
    },
  }

  async function follow(
    series: readonly Series[],
    until: AbortSignal,
    board: Board,
    onClosed: (one: Series, error: ServiceError) => void,
  ): Promise<EngineRun> {
    const ending = new AbortController()
    await announceModel()
    try {
      const batches = batchesOf(series, AbortSignal.any([until, ending.signal]))
      const recording = { engine, recorder, outcomes, board }
      return await runEngine({ ...recording, series, batches, clock, onClosed, ...reporting })
    } finally {
      // A run whose series have all been closed stops reading bars.
      ending.abort()
    }
  }

  return {
    follow,
    /** Close of the newest bar, Unix milliseconds; undefined while history warms the series up. */
    lastBarClose: (): number | undefined => (isWarm ? lastBarClose : undefined),
    calls: (): Readonly<Record<Call, number>> => calls,
  }
}
