import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { EXCHANGES, type Exchange, seriesName } from '../../../contracts/domain/series.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  createAnnouncer,
  createBoard,
  createFundingRates,
  createOutcomeRecorder,
  createRecorder,
  createUniverseManager,
  FUNDING_HISTORY_DAYS,
  LatestPrices,
  SeriesEngine,
} from '../../engine/index.ts'
import type { WatchList } from '../../market/index.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { sleep as sleepForReal } from '../../runtime/async/sleep.ts'
import { sharedLeases } from '../adapters/open-leases.ts'
import type { SharedParts } from '../shared-parts.ts'

type EngineCounters = 'verdictsRecorded' | 'outcomesLabelled' | 'appendTrouble' | 'seriesClosed'

export interface EngineDeps
  extends Pick<
    SharedParts,
    'settings' | 'platform' | 'feed' | 'projector' | 'speech' | 'log' | 'publicUrl' | 'version'
  > {
  readonly counters: Pick<SharedParts['counters'], EngineCounters>
  readonly terminal: Pick<SharedParts['terminal'], 'verdicts'>
  readonly watchList: WatchList
  readonly signal: AbortSignal
  /** The clock that it waits by; by default this machine's. */
  readonly time?: Pick<Clock, 'now' | 'sleep'>
}

export const REAL_TIME: Pick<Clock, 'now' | 'sleep'> = { now: Date.now, sleep: sleepForReal }

/** The parts with which an engine process computes, records and ranks. */
export type EngineParts = ReturnType<typeof openEngineParts>

export function openEngineParts(deps: EngineDeps) {
  const { settings, platform, feed, watchList, speech, log, counters, signal, time = REAL_TIME } = deps
  const { store, idOf, newId } = platform
  const { sleep } = time
  const clock = (): number => feed.clock()
  // A market that is replayed at full speed has no present to load a series into, to rank coins at, or to be late for.
  const hasPresent = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const leases = sharedLeases(deps, 'engine', EXCHANGES.length)
  const holds = (exchange: Exchange): boolean =>
    leases?.held().some(({ shard }) => EXCHANGES[shard] === exchange) === true
  const path = {
    store,
    idOf,
    sleep,
    signal,
    onProblem(error: ServiceError) {
      log.warn({ err: error }, 'verdicts or outcomes wait for the event store')
      counters.appendTrouble(error.code)
    },
  }
  const prices = new LatestPrices()
  const newOutcomes = () => createOutcomeRecorder({ ...path, onLabelled: counters.outcomesLabelled })
  return {
    clock,
    sleep,
    hasPresent,
    leases,
    newOutcomes,
    engine: new SeriesEngine({
      model: speech.model,
      withdrawn: (timeframe, barClose) => speech.withdrawn(timeframe, barClose),
      onRestart: ({ series, from, to, barsMissing }) =>
        log.warn(
          { series: seriesName(series), from: isoTime(from), to: isoTime(to), barsMissing },
          `bars are missing for too long; the series begins anew and has verdicts again after ${LIMITS.warmUpBars} bars`,
        ),
    }),
    board: createBoard(),
    announcer: createAnnouncer({ ...path, newId, clock }),
    recorder: createRecorder({
      ...path,
      clock: hasPresent ? clock : undefined,
      isHurried: (barClose: number) => (settings.MARKET_SPEED ?? 1) > 1 || barClose <= (feed.ranTo?.() ?? 0),
      holds: leases && holds,
      isMonitored: (series) => watchList.has(series),
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
      onProblem: (exchange, { code, message }) =>
        log.warn({ exchange, code }, `the coins of ${exchange} cannot be ranked: ${message}`),
    }),
  }
}
