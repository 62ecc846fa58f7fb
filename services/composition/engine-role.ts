import type { Logger } from 'pino'
import type { ServiceError } from '../../contracts/errors.ts'
import { EXCHANGES, type Exchange } from '../../contracts/exchanges.ts'
import type { BarBatch, FundingUpdate } from '../../contracts/feed.ts'
import type { Outcome } from '../../contracts/outcome.ts'
import { type Market, marketName, type Series, seriesName } from '../../contracts/series.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import type { Call, Verdict } from '../../contracts/verdict.ts'
import {
  type Board,
  createAnnouncer,
  createBoard,
  createChallengerRecorder,
  createEngine,
  createEnsemble,
  createFollower,
  createFundingRates,
  createOutcomeRecorder,
  createRecorder,
  createToolHandler,
  createUniverseManager,
  type EngineRun,
  FUNDING_HISTORY_DAYS,
  keepSpeech,
  type LocalToolHandler,
  labelUnfollowed,
  runEngine,
  scanFundingArb,
} from '../engine/index.ts'
import type { MarketFeed } from '../market/index.ts'
import { sleep as sleepForReal } from '../platform/async/sleep.ts'
import type { Settings } from '../platform/config/settings.ts'
import { countMonitored, type MonitoredCounts } from './monitored-series.ts'
import type { Platform } from './open-platform.ts'
import { sharedLeases } from './shared-leases.ts'
import type { OpenedSpeech } from './speech.ts'
import { staleAfterMs, type WatchList } from './watch-list.ts'

/** The process that computes: it follows the market, records, labels, ranks, and answers tools. */
export interface EngineRole {
  /**
   * Begins to follow what is monitored. Settles when the market ends. What fails of a market without an end begins
   * again after a pause; a recorded one rejects with it.
   */
  start(): Promise<EngineRun>
  /** Resolves when everything has ended, however it did; the signal brings it about. */
  ended(): Promise<void>
  readonly toolHandler: LocalToolHandler
  /** Close of the newest bar, Unix milliseconds; undefined while history warms the series up. */
  lastBarClose(): number | undefined
  /** Close of the newest bar of a series that is followed, Unix milliseconds. */
  newestBar(series: Series): number | undefined
  /** Length of the shortest bar that is monitored, milliseconds: how often something is due. */
  shortestBarMs(): number
  calls(): Readonly<Record<Call, number>>
  /** How the monitored series are doing, by venue. */
  monitored(): readonly MonitoredCounts[]
  /** Exchanges of which nothing is followed yet, because they have not said what they have. */
  pending(): readonly Exchange[]
  /** What keeps verdicts or outcomes from being recorded at the moment. */
  problem(): string | undefined
  /** What keeps the ranking of an exchange from being renewed at the moment. */
  rankingProblem(exchange: Exchange): string | undefined
}

export interface EngineRoleOptions {
  readonly settings: Settings
  readonly platform: Platform
  readonly feed: MarketFeed
  readonly watchList: WatchList
  /** Of every series in the log; absent where this process does not keep that read model. */
  readonly newestVerdicts: (() => Iterable<Verdict>) | undefined
  readonly speech: OpenedSpeech
  readonly log: Logger
  readonly publicUrl: () => string
  readonly signal: AbortSignal
  readonly onRecorded: (verdicts: readonly Verdict[]) => void
  readonly onLabelled: (outcomes: readonly Outcome[]) => void
  readonly onProblem: (code: string) => void
  /** Told of what a venue sent that cannot be: nothing is computed from it. */
  readonly onRefused: (market: Market, fault: string) => void
  /** Told when a monitored series was closed because of a fault of its own. */
  readonly onClosed: (series: Series, error: ServiceError) => void
  /** Whose time it waits by; that of this machine unless said. */
  readonly time?: EngineTime
}

export interface EngineTime {
  /** Unix milliseconds. */
  now(): number
  /** Ends after some milliseconds, or when the signal is aborted; does not reject. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}

const REAL_TIME: EngineTime = { now: Date.now, sleep: sleepForReal }

const GO_ON_AFTER_MS = 30_000
const ROLES_EVERY_MS = 2_000

const nothing = (): Promise<void> => Promise.resolve()

const exchangesOf = (series: readonly Series[]): Exchange[] => [
  ...new Set(series.map(({ exchange }) => exchange)),
]

/** @example const engine = createEngineRole({ … }); await engine.start() */
export function createEngineRole(options: EngineRoleOptions): EngineRole {
  const { settings, platform, feed, watchList, log, signal, time = REAL_TIME } = options
  const sleep: EngineTime['sleep'] = (milliseconds, until) => time.sleep(milliseconds, until)
  const { store, idOf, newId } = platform
  const calls: Record<Call, number> = { BUY: 0, SELL: 0, HOLD: 0 }
  let lastBarClose: number | undefined
  /** History that warms up is old by nature, and says nothing of how late the market is. */
  let isWarm = false
  const toldRefusals = new Set<string>()
  let started: Promise<unknown> = Promise.resolve()

  const recording = {
    store,
    idOf,
    sleep,
    signal,
    onProblem(error: ServiceError) {
      log.warn({ err: error }, 'verdicts or outcomes wait for the event store')
      options.onProblem(error.code)
    },
  }
  const { models, orders } = options.speech
  const championNow = () => options.speech.champion(feed.clock())
  const engineOf = ({ model }: (typeof models)[number]) =>
    createEngine({
      model,
      withdrawal: (timeframe, barClose) => orders.withdrawal(model.version, timeframe, barClose),
    })
  const [first, ...others] = models
  const engine =
    others.length === 0
      ? engineOf(first)
      : createEnsemble(
          [engineOf(first), ...others.map(engineOf)],
          (at) => options.speech.champion(at).version,
        )
  const announcer = createAnnouncer({ ...recording, newId, clock: () => feed.clock() })
  const board = createBoard()
  // A market that is replayed at full speed has no present to load a series into, to rank coins at, or to be late for.
  const hasPresent = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const leases = sharedLeases({ settings, platform, group: 'engine', shards: EXCHANGES.length, log })
  const holds =
    leases && ((exchange: Exchange) => leases.held().some(({ shard }) => EXCHANGES[shard] === exchange))
  const recorder = createRecorder({
    ...recording,
    clock: hasPresent ? () => feed.clock() : undefined,
    isMonitored: (series) => watchList.has(series),
    holds,
  })
  const challengers = createChallengerRecorder({
    ...recording,
    clock: hasPresent ? () => feed.clock() : undefined,
    holds,
    onFailure: (series, error) =>
      log.warn(
        { err: error, series: seriesName(series) },
        'verdicts of models that do not speak are not recorded',
      ),
  })
  const outcomes = createOutcomeRecorder({ ...recording, onLabelled: options.onLabelled })
  const funding = createFundingRates({ keepDays: FUNDING_HISTORY_DAYS })
  const universes = createUniverseManager({
    rank: (exchange) => feed.universe(exchange),
    store,
    newId,
    clock: () => feed.clock(),
    sleep,
    onProblem: (exchange, error) => log.warn({ err: error, exchange }, 'the coins cannot be ranked'),
  })

  async function* batchesOf(series: readonly Series[], until: AbortSignal): AsyncGenerator<BarBatch> {
    const historyFrom = await outcomes.historyFrom(series, feed.clock())
    const request = {
      series,
      signal: until,
      keeps: true,
      ...(historyFrom !== undefined && { historyFrom }),
    }
    for await (const batch of feed.batches(request)) {
      isWarm ||= batch.phase === 'live'
      if (batch.bars.length > 0) lastBarClose = Math.max(lastBarClose ?? 0, batch.at)
      yield batch
    }
  }

  function takeFunding(updates: readonly FundingUpdate[]): void {
    for (const update of updates) funding.take(update)
  }

  async function announceModels(): Promise<void> {
    const speaks = championNow().version
    for (const { model, file } of models)
      await announcer.announceModel(file, model.version === speaks ? 'serving' : 'challenger')
  }

  /** The operator may have another model speak at any time; who announces it in vain finds it said. */
  async function renewRoles(): Promise<void> {
    let spoke = championNow().version
    while (!signal.aborted) {
      await sleep(ROLES_EVERY_MS, signal)
      const speaks = championNow().version
      if (signal.aborted || speaks === spoke) continue
      await announceModels()
      spoke = speaks
    }
  }

  async function follow(
    series: readonly Series[],
    until: AbortSignal,
    on: Board,
    onClosed: (series: Series, error: ServiceError) => void,
  ): Promise<EngineRun> {
    const ending = new AbortController()
    await announceModels()
    try {
      return await runEngine({
        engine,
        recorder,
        challengers,
        outcomes,
        board: on,
        series,
        batches: batchesOf(series, AbortSignal.any([until, ending.signal])),
        clock: () => feed.clock(),
        onFunding: takeFunding,
        onClosed,
        onRefused(market, fault, reason) {
          options.onRefused(market, fault)
          const kind = `${marketName(market)} ${fault}`
          if (toldRefusals.has(kind)) return
          toldRefusals.add(kind)
          log.warn({ fault, reason }, 'market data refused; more of its kind is only counted')
        },
        onRecorded(verdicts) {
          for (const verdict of verdicts) calls[verdict.call] += 1
          options.onRecorded(verdicts)
        },
      })
    } finally {
      // A run that is left without series leaves its bars, too.
      ending.abort()
    }
  }

  /** A market that has ended is still asked what it said last. */
  const lasting = (until: AbortSignal): Board => ({
    ...board,
    remove: (series) => {
      if (until.aborted) board.remove(series)
    },
  })

  const follower = createFollower({
    async run(series, until, onClosed) {
      // What callers had followed until now is followed here: never twice at a time.
      await toolHandler.release(series)
      return follow(series, until, lasting(until), onClosed)
    },
    triesAgain: feed.kind !== 'recorded',
    onClosed(series, error, againInMs) {
      log.error(
        { err: error, series: seriesName(series), againInMs },
        'a series was closed; the others go on',
      )
      options.onClosed(series, error)
    },
    onFailed: (series, error, againInMs) =>
      log.error(
        { err: error, series: series.length, exchanges: exchangesOf(series), againInMs },
        'following series broke off, and begins again',
      ),
    now: () => (time === REAL_TIME ? performance.now() : time.now()),
    sleep,
  })

  async function followOnDemand(series: Series, until: AbortSignal): Promise<void> {
    let fault: ServiceError | undefined
    await follow([series], AbortSignal.any([until, signal]), board, (_, error) => {
      fault = error
    })
    if (fault !== undefined) throw fault
  }

  /** A recorded market has no later: what is replayed again is labelled then. */
  async function labelOthers(): Promise<void> {
    const { newestVerdicts } = options
    if (newestVerdicts === undefined || feed.kind === 'recorded') return
    await labelUnfollowed({
      store,
      outcomes: createOutcomeRecorder({ ...recording, onLabelled: options.onLabelled }),
      newestVerdicts,
      isFollowed: (series) => watchList.has(series) || board.get(series) !== undefined,
      isGone: (series) => feed.isGone(series),
      followed: outcomes,
      batches: (request) => feed.batches(request),
      clock: () => feed.clock(),
      sleep,
      signal,
      onFailure: (series, error) =>
        log.warn(
          { err: error, series: seriesName(series) },
          'verdicts not followed any more wait for outcomes',
        ),
    })
  }

  const watchSpeech = (): Promise<void> =>
    keepSpeech({
      store,
      idOf,
      rows: () => options.speech.rows(),
      // Of those that share the log, the one that records the first exchange.
      mayDecide: () => leases === undefined || leases.held().some(({ shard }) => shard === 0),
      now: () => performance.now(),
      sleep,
      signal,
      onFailure: (error) => log.warn({ err: error }, 'a change of speech waits for the event store'),
    })

  /** What works beside the market is nothing that it should end for. */
  async function goOn(what: string, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        return await work()
      } catch (error) {
        log.error({ err: error, againInMs: GO_ON_AFTER_MS }, `${what} broke off, and begins again`)
        await sleep(GO_ON_AFTER_MS, signal)
      }
    }
  }

  const toolHandler = createToolHandler({
    board,
    get model() {
      return championNow()
    },
    withdrawn: (timeframe) => options.speech.withdrawn(timeframe, feed.clock()),
    monitored: watchList,
    listings: () => feed.listings(),
    ...(settings.EXCHANGES && { exchanges: settings.EXCHANGES }),
    universes,
    follow: hasPresent ? followOnDemand : undefined,
    scanFunding: (request, now) => scanFundingArb(funding, request, now),
    clock: () => feed.clock(),
    staleAfterMs: staleAfterMs(settings),
    publicUrl: options.publicUrl,
    now: () => time.now(),
    sleep,
    signal,
    onFailure: (series, error) =>
      log.warn({ err: error, series: seriesName(series) }, 'a series on demand could not be followed'),
  })

  return {
    start() {
      const running = watchList.follow(async (series, until) => {
        await announcer.announceMonitored(exchangesOf(series), watchList.series())
        return follower.follow(series, until)
      }, signal)
      const ranking = hasPresent
        ? goOn('ranking coins', () => universes.run(watchList.exchanges, signal))
        : undefined
      const labelling = goOn('labelling verdicts not followed any more', labelOthers)
      // A market that is replayed at full speed is over before anybody could obey.
      const watching = hasPresent ? goOn('watching how the model does', watchSpeech) : undefined
      const renewing = models.length > 1 ? goOn('announcing who speaks', renewRoles) : undefined
      // What is under way when a lease ends has its place in the log, or finds it taken: nothing has to be stopped.
      const holding = leases?.run({ gained: nothing, lost: nothing }, signal)
      started = Promise.allSettled([running, ranking, labelling, watching, renewing, holding])
      return running
    },
    async ended() {
      await started
      await toolHandler.ended()
    },
    toolHandler,
    lastBarClose: () => (isWarm ? lastBarClose : undefined),
    newestBar: (series) => board.get(series)?.barClose,
    shortestBarMs: () => Math.min(...watchList.series().map((one) => timeframeMs(one.timeframe))),
    calls: () => calls,
    monitored: () =>
      countMonitored(watchList.series(), {
        isClosed: (series) => follower.isClosed(series),
        entryOf: (series) => board.get(series),
        hasPresent: feed.kind !== 'recorded',
        clock: () => feed.clock(),
        staleAfterMs: staleAfterMs(settings),
      }),
    problem: () => recorder.problem() ?? outcomes.problem(),
    rankingProblem: (exchange) => universes.problem(exchange),
    pending: () => watchList.pending(),
  }
}
