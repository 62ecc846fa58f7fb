import type { BarBatch, FundingUpdate } from '../../../contracts/domain/feed.ts'
import { marketName, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { barOpenAt, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { Call } from '../../../contracts/domain/verdict.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Board, type EngineRun, runEngine } from '../../engine/index.ts'
import type { MarketFeed } from '../../market/index.ts'
import type { EngineDeps, EngineParts } from './engine-parts.ts'
import { newestVerdicts } from './newest-verdicts.ts'

/** Runs over series of the market, and their results so far. */
export type EngineRuns = ReturnType<typeof createEngineRuns>

/** @param announceModel done before anything is recorded @param awaited series that callers wait for */
export function createEngineRuns(
  deps: EngineDeps,
  parts: EngineParts,
  announceModel: () => Promise<void>,
  awaited: () => Iterable<Series>,
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

/** Bars of a series that are run through at a later start, for the time in which nothing ran: a day of minutes. */
const RUN_BARS_LATER = 1_440

interface MarketRun {
  readonly runFrom: NonNullable<Parameters<MarketFeed['batches']>[0]['runFrom']>
  /** Close of the first bar of those asked about that the clock is run through, Unix milliseconds. */
  readonly earliest: () => number
}

/**
 * The instants after which bars of a simulated market are run through at a start: the newest bar in the log of each
 * monitored series, at most {@link RUN_BARS_LATER} ago; for a series without one, `LIMITS.runBars` ago. Series on demand have no past to keep.
 */
async function planRun(
  { settings, feed, watchList, projector }: EngineDeps,
  series: readonly Series[],
  until: AbortSignal,
): Promise<MarketRun | undefined> {
  if (feed.kind !== 'simulated' || !series.every((one) => watchList.has(one))) return undefined
  await projector?.caughtUp(until)
  const newest = new Map<string, number>()
  for (const verdict of projector === undefined ? [] : newestVerdicts(projector))
    newest.set(seriesName(verdict), verdict.barClose)
  let earliest = Number.POSITIVE_INFINITY
  return {
    runFrom(one, now) {
      const recorded = newest.get(seriesName(one))
      const barMs = timeframeMs(one.timeframe)
      const most = (recorded === undefined ? LIMITS.runBars : RUN_BARS_LATER) * barMs
      const from = Math.max(recorded ?? (settings.FRESH ? now : 0), now - most)
      const first = barOpenAt(one.timeframe, from) + barMs
      if (first <= now) earliest = Math.min(earliest, first)
      return from
    },
    earliest: () => earliest,
  }
}
