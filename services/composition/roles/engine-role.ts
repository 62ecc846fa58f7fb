import { type Exchange, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import {
  type Board,
  createFollower,
  createToolHandler,
  type EngineRun,
  type LocalToolHandler,
  NOTHING_RUN,
  newestFunding,
  scanFundingArb,
  together,
} from '../../engine/index.ts'
import type { Component } from '../../http/routes/health.ts'
import { staleAfterMs } from '../../market/index.ts'
import { startEngineJobs } from './engine-jobs.ts'
import { type EngineDeps, type EngineParts, openEngineParts, REAL_TIME } from './engine-parts.ts'
import { createEngineRuns, type EngineRuns } from './engine-runs.ts'
import { countMonitored, marketComponent, venueComponents } from './market-health.ts'

/** The process that computes: it follows the market, records, labels, ranks, and answers tools. */
export type EngineRole = ReturnType<typeof createEngineRole>

const exchangesOf = (series: readonly Series[]): Exchange[] => [
  ...new Set(series.map(({ exchange }) => exchange)),
]

/** @example const engine = createEngineRole({ … }); await engine.start() */
export function createEngineRole(deps: EngineDeps) {
  const { settings, feed, watchList, signal } = deps
  const parts = openEngineParts(deps)
  const { board, announcer, recorder, outcomes, universes, clock } = parts
  async function announceModel(): Promise<void> {
    await deps.speech.caughtUp(signal)
    await announcer.announceModel(deps.speech.file)
  }
  const runs = createEngineRuns(deps, parts, announceModel, () => toolHandler.awaited())
  const toolHandler: LocalToolHandler = openToolHandler(deps, parts, runs)
  const follower = openFollower(deps, parts, runs, toolHandler)
  const staleMs = staleAfterMs(settings)
  const monitored = () =>
    countMonitored(watchList.series(), {
      isClosed: (series) => follower.isClosed(series),
      entryOf: (series) => board.get(series),
      hasPresent: feed.kind !== 'recorded',
      clock,
      staleAfterMs: staleMs,
    })
  let started: Promise<unknown> | undefined

  async function followMarket(): Promise<EngineRun> {
    const all = await watchList.follow(async (series, until) => {
      await announcer.announceMonitored(exchangesOf(series), watchList.series())
      return follower.follow(series, until)
    }, signal)
    return all.reduce(together, NOTHING_RUN)
  }

  return {
    /**
     * Begins to follow what is monitored. Settles when the market ends. In a market without an end, failed work begins
     * again after a pause; a recorded market rejects with the failure.
     */
    start(): Promise<EngineRun> {
      assert(started === undefined, 'the engine of a process starts once')
      const running = followMarket()
      started = Promise.allSettled([running, ...startEngineJobs(deps, parts)])
      return running
    },
    /** Resolves when all work has ended, failed or not; the signal ends it. */
    async ended(): Promise<void> {
      await started
      await toolHandler.ended()
    },
    toolHandler,
    lastBarClose: runs.lastBarClose,
    /** Close of the newest bar of a series that is followed, Unix milliseconds. */
    newestBar: (series: Series) => board.get(series)?.barClose,
    calls: runs.calls,
    monitored,
    /** @param isAwaited whether callers are still kept out until the first bar */
    health: (isAwaited: boolean): Component[] => [
      marketComponent(feed, {
        problem: recorder.problem() ?? outcomes.problem(),
        lastBarClose: runs.lastBarClose(),
        lateAfterMs: Math.min(...watchList.series().map((one) => timeframeMs(one.timeframe))) + staleMs,
        monitored: monitored(),
        pending: watchList.pending(),
        isAwaited,
      }),
      ...venueComponents(feed, (exchange) => universes.problem(exchange)),
    ],
  }
}

/** Answers tools from the monitored series, and follows other series while callers ask for them. */
function openToolHandler(
  { settings, feed, watchList, speech, log, signal, publicUrl, time = REAL_TIME }: EngineDeps,
  { board, universes, funding, clock, sleep, hasPresent }: EngineParts,
  { follow }: EngineRuns,
): LocalToolHandler {
  async function followOnDemand(series: Series, until: AbortSignal): Promise<void> {
    let fault: ServiceError | undefined
    await follow([series], AbortSignal.any([until, signal]), board, (_, error) => {
      fault = error
    })
    if (fault !== undefined) throw fault
  }

  const handler = createToolHandler({
    board,
    model: speech.model,
    withdrawn: (timeframe) => speech.withdrawn(timeframe, clock()),
    monitored: watchList,
    listings: () => feed.listings(),
    ...(settings.EXCHANGES && { exchanges: settings.EXCHANGES }),
    universes,
    follow: hasPresent ? followOnDemand : undefined,
    fundingOf: (market) => newestFunding(funding, market, clock()),
    scanFunding: (request, now) => scanFundingArb(funding, request, now),
    clock,
    staleAfterMs: staleAfterMs(settings),
    publicUrl,
    now: () => time.now(),
    sleep,
    signal,
    onFailure: (series, error) =>
      log.warn({ code: error.code }, `${seriesName(series)} cannot be followed on demand: ${error.message}`),
  })
  return {
    ...handler,
    answer: (tool, request, asker) =>
      handler.answer(tool, request, asker).catch((error) => Promise.reject(explained(error, feed))),
  }
}

/** Refuses contracts that the venue lists, though not as coins, and says what they are. */
function explained(error: unknown, feed: EngineDeps['feed']): unknown {
  if (!isServiceError(error, 'unknown_coin')) return error
  const { did_you_mean: _other, ...details } = error.details ?? {}
  const { given } = details
  const [coin = ''] = typeof given === 'string' ? given.split(/[-_/:]?USD[TC]?\b/) : []
  const why = feed.whyNoCoin?.({ exchange: details['exchange'] as Exchange, coin })
  return why === undefined ? error : new ServiceError('unknown_coin', { message: why, details, cause: error })
}

/** Follows the monitored series: one with a fault of its own is closed, and the others go on. */
function openFollower(
  { feed, log, counters, time = REAL_TIME }: EngineDeps,
  { board, sleep }: EngineParts,
  { follow }: EngineRuns,
  toolHandler: Pick<LocalToolHandler, 'release'>,
) {
  /** After a market has ended, tools still answer from its last bars. */
  const lasting = (until: AbortSignal): Board => ({
    ...board,
    remove: (series) => {
      if (until.aborted) board.remove(series)
    },
  })
  return createFollower({
    async run(series, until, onClosed) {
      // A series that callers had followed is released first: it is never followed twice at a time.
      await toolHandler.release(series)
      return follow(series, until, lasting(until), onClosed)
    },
    triesAgain: feed.kind !== 'recorded',
    onClosed(series, error, againInMs) {
      const closed = { err: error, series: seriesName(series), againInMs }
      log.error(closed, 'a series was closed; the others go on')
      counters.seriesClosed(series.exchange, error.code)
    },
    onFailed(series, error, againInMs) {
      const failed = { err: error, series: series.length, exchanges: exchangesOf(series), againInMs }
      log.error(failed, 'following series failed; restarting')
    },
    now: () => (time === REAL_TIME ? performance.now() : time.now()),
    sleep,
  })
}
