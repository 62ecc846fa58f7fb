import type { Logger } from 'pino'
import type { ServiceError } from '../../../contracts/errors.ts'
import { EXCHANGES, type Exchange } from '../../../contracts/exchanges.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import { type Market, type Series, seriesName } from '../../../contracts/series.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import {
  createAnnouncer,
  createBoard,
  createChallengerRecorder,
  createEngine,
  createEnsemble,
  createFundingRates,
  createOutcomeRecorder,
  createRecorder,
  createUniverseManager,
  FUNDING_HISTORY_DAYS,
} from '../../engine/index.ts'
import type { MarketFeed } from '../../market/index.ts'
import { sleep as sleepForReal } from '../../runtime/async/sleep.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Platform } from '../adapters/open-platform.ts'
import { sharedLeases } from '../adapters/shared-leases.ts'
import type { OpenedSpeech } from './speech.ts'
import type { WatchList } from './watch-list.ts'

export interface EngineRoleOptions {
  readonly settings: Settings
  readonly platform: Platform
  readonly feed: MarketFeed
  readonly watchList: WatchList
  /** The newest verdict of every series in the log; undefined where this process does not keep that read model. */
  readonly newestVerdicts: (() => Iterable<Verdict>) | undefined
  readonly speech: OpenedSpeech
  readonly log: Logger
  readonly publicUrl: () => string
  readonly signal: AbortSignal
  readonly onRecorded: (verdicts: readonly Verdict[]) => void
  readonly onLabelled: (outcomes: readonly Outcome[]) => void
  readonly onProblem: (code: string) => void
  /** Called for impossible market data: nothing is computed from it. */
  readonly onRefused: (market: Market, fault: string) => void
  /** Called when a monitored series is closed because of a fault of its own. */
  readonly onClosed: (series: Series, error: ServiceError) => void
  /** The clock that it waits by; by default this machine's. */
  readonly time?: EngineTime
}

export interface EngineTime {
  /** Unix milliseconds. */
  now(): number
  /** Ends after some milliseconds, or when the signal is aborted; does not reject. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}

export const REAL_TIME: EngineTime = { now: Date.now, sleep: sleepForReal }

/** The parts with which an engine process computes, records and ranks. */
export type EngineParts = ReturnType<typeof openEngineParts>

export function openEngineParts(options: EngineRoleOptions) {
  const { settings, platform, feed, watchList, speech, log, signal, time = REAL_TIME } = options
  const { store, idOf, newId } = platform
  const clock = (): number => feed.clock()
  const sleep: EngineTime['sleep'] = (milliseconds, until) => time.sleep(milliseconds, until)
  // A market that is replayed at full speed has no present to load a series into, to rank coins at, or to be late for.
  const hasPresent = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const leases = sharedLeases({ settings, platform, group: 'engine', shards: EXCHANGES.length, log })
  const path = {
    store,
    idOf,
    sleep,
    signal,
    onProblem(error: ServiceError) {
      log.warn({ err: error }, 'verdicts or outcomes wait for the event store')
      options.onProblem(error.code)
    },
  }
  const recording = {
    ...path,
    clock: hasPresent ? clock : undefined,
    isHurried: (settings.MARKET_SPEED ?? 1) > 1,
    holds:
      leases && ((exchange: Exchange) => leases.held().some(({ shard }) => EXCHANGES[shard] === exchange)),
  }
  const newOutcomes = () => createOutcomeRecorder({ ...path, onLabelled: options.onLabelled })
  return {
    clock,
    sleep,
    hasPresent,
    leases,
    newOutcomes,
    engine: speakingEngine(speech),
    board: createBoard(),
    announcer: createAnnouncer({ ...path, newId, clock }),
    recorder: createRecorder({ ...recording, isMonitored: (series) => watchList.has(series) }),
    challengers: createChallengerRecorder({
      ...recording,
      onFailure: (series, error) =>
        log.warn(
          { err: error, series: seriesName(series) },
          'verdicts of models that do not speak are not recorded',
        ),
    }),
    outcomes: newOutcomes(),
    funding: createFundingRates({ keepDays: FUNDING_HISTORY_DAYS }),
    universes: createUniverseManager({
      rank: (exchange) => feed.universe(exchange),
      store,
      newId,
      clock,
      sleep,
      onProblem: (exchange, error) => log.warn({ err: error, exchange }, 'the coins cannot be ranked'),
    }),
  }
}

/** The engine of the models: each computes, one of them speaks. */
function speakingEngine(speech: OpenedSpeech) {
  const { models, orders } = speech
  const engineOf = ({ model }: (typeof models)[number]) =>
    createEngine({
      model,
      withdrawal: (timeframe, barClose) => orders.withdrawal(model.version, timeframe, barClose),
    })
  const [first, ...others] = models
  return others.length === 0
    ? engineOf(first)
    : createEnsemble([engineOf(first), ...others.map(engineOf)], (at) => speech.champion(at).version)
}
