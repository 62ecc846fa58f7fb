import type { ServiceError } from '../../../contracts/errors.ts'
import { EXCHANGES, type Exchange } from '../../../contracts/exchanges.ts'
import { seriesName } from '../../../contracts/series.ts'
import {
  createAnnouncer,
  createBoard,
  createChallengerRecorder,
  createEnsemble,
  createFundingRates,
  createOutcomeRecorder,
  createRecorder,
  createUniverseManager,
  FUNDING_HISTORY_DAYS,
  LatestPrices,
  SeriesEngine,
} from '../../engine/index.ts'
import { sleep as sleepForReal } from '../../runtime/async/sleep.ts'
import { sharedLeases } from '../adapters/shared-leases.ts'
import type { Deps } from '../deps.ts'
import type { OpenedSpeech } from './speech.ts'
import type { WatchList } from './watch-list.ts'

export interface EngineDeps
  extends Pick<
    Deps,
    'settings' | 'platform' | 'feed' | 'projector' | 'speech' | 'log' | 'publicUrl' | 'signal' | 'version'
  > {
  readonly metrics: Pick<
    Deps['metrics'],
    'verdictsRecorded' | 'outcomesLabelled' | 'appendTrouble' | 'marketDataRefused' | 'seriesClosed'
  >
  readonly terminal: Pick<Deps['terminal'], 'verdicts'>
  readonly watchList: WatchList
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

export function openEngineParts(deps: EngineDeps) {
  const { settings, platform, feed, watchList, speech, log, metrics, signal, time = REAL_TIME } = deps
  const { store, idOf, newId } = platform
  const clock = (): number => feed.clock()
  const sleep: EngineTime['sleep'] = (milliseconds, until) => time.sleep(milliseconds, until)
  // A market that is replayed at full speed has no present to load a series into, to rank coins at, or to be late for.
  const hasPresent = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const leases = sharedLeases(deps, 'engine', EXCHANGES.length)
  const path = {
    store,
    idOf,
    sleep,
    signal,
    onProblem(error: ServiceError) {
      log.warn({ err: error }, 'verdicts or outcomes wait for the event store')
      metrics.appendTrouble(error.code)
    },
  }
  const recording = {
    ...path,
    clock: hasPresent ? clock : undefined,
    isHurried: (barClose: number) => (settings.MARKET_SPEED ?? 1) > 1 || barClose <= (feed.ranTo?.() ?? 0),
    holds:
      leases && ((exchange: Exchange) => leases.held().some(({ shard }) => EXCHANGES[shard] === exchange)),
  }
  const prices = new LatestPrices()
  const newOutcomes = () => createOutcomeRecorder({ ...path, onLabelled: metrics.outcomesLabelled })
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
    prices,
    funding: createFundingRates({ keepDays: FUNDING_HISTORY_DAYS, prices }),
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
    new SeriesEngine({
      model,
      withdrawal: (timeframe, barClose) => orders.withdrawal(model.version, timeframe, barClose),
    })
  const [first, ...others] = models
  return others.length === 0
    ? engineOf(first)
    : createEnsemble([engineOf(first), ...others.map(engineOf)], (at) => speech.champion(at).version)
}
