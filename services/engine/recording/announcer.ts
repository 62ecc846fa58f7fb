import type { Exchange, Series } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { decodeEvent, MarketClockRun, type ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { ModelAnnounced, type ModelFile, MonitoringChanged } from '../../../contracts/events/proof-events.ts'
import { MARKET_RUNS_STREAM, modelStream, monitoredStream } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { canonicalJson } from '../../../contracts/infra/json.ts'
import { executeCommand } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createRetrier, type RetrierOptions, UNKNOWN } from './append-once.ts'

export interface AnnouncerOptions extends RetrierOptions {
  readonly store: EventStore
  readonly newId: () => string
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
}

/** Says in the log what verdicts will be computed with, and of what, before there are any. */
export function createAnnouncer(options: AnnouncerOptions) {
  const { store, newId, clock } = options
  const retrier = createRetrier(options)
  /** Announcements that this process has seen in the log: every followed series asks for its model's. */
  const said = new Map<string, string>()

  /** Appends unless the newest event of a stream says the same. */
  async function announce(stream: string, make: () => NewEvent, isSaid: (event: ServiceEvent) => boolean) {
    await retrier.waitOut(() =>
      executeCommand<ServiceEvent | undefined, undefined>(retrier.path(store), {
        stream,
        async load() {
          for await (const recorded of store.read(stream, { direction: 'backwards', limit: 1 }))
            return { state: decodeEvent(recorded), revision: recorded.revision }
          return { state: undefined, revision: 'no-stream' }
        },
        decide: (newest) => ({
          events: newest !== undefined && isSaid(newest) ? [] : [make()],
          result: undefined,
        }),
        unknown: UNKNOWN,
      }),
    )
  }

  async function announceOne(exchange: Exchange, series: readonly Series[]): Promise<void> {
    const monitored = coinsOf(series.filter((one) => one.exchange === exchange))
    const text = canonicalJson(monitored)
    const id = newId()
    const since = Math.floor(clock())
    await announce(
      monitoredStream(exchange),
      () =>
        newEvent(MonitoringChanged, {
          id,
          data: { exchange, since, monitored },
          meta: { correlationId: `monitored ${exchange} ${since}`, actor: 'engine' },
        }),
      (event) => event.type === 'MonitoringChanged' && canonicalJson(event.data.monitored) === text,
    )
  }

  return {
    /** Resolves when the log says it; waits out a store that is away. */
    async announceModel(file: ModelFile): Promise<void> {
      const data = { ...file, role: 'serving' as const }
      const text = canonicalJson(data)
      if (said.get(file.modelVersion) === text) return
      const id = newId()
      await announce(
        modelStream(file.modelVersion),
        () =>
          newEvent(ModelAnnounced, {
            id,
            data,
            meta: { correlationId: `model ${file.modelVersion}`, actor: 'engine' },
          }),
        (event) => event.type === 'ModelAnnounced' && canonicalJson(event.data) === text,
      )
      said.set(file.modelVersion, text)
    },
    /**
     * Says which series of some exchanges are followed; nothing where the log says so already.
     *
     * @param series all that are followed, also of other exchanges
     */
    async announceMonitored(exchanges: readonly Exchange[], series: readonly Series[]): Promise<void> {
      for (const exchange of exchanges) await announceOne(exchange, series)
    },
    /** Says that the clock of the market is run through a stretch of market time, Unix milliseconds. */
    async announceRun(from: number, to: number): Promise<void> {
      const [id, meta] = [newId(), { correlationId: `market run ${to}`, actor: 'engine' }]
      await announce(
        MARKET_RUNS_STREAM,
        () => newEvent(MarketClockRun, { id, data: { from, to }, meta }),
        (event) => event.type === 'MarketClockRun' && event.data.to === to,
      )
    },
  }
}

/** Coins by name with their timeframes, shortest first: the same set has one text. */
function coinsOf(series: readonly Series[]) {
  const byCoin = Map.groupBy(series, ({ coin }) => coin)
  return [...byCoin.keys()].toSorted().map((coin) => {
    const has = new Set(byCoin.get(coin)?.map(({ timeframe }) => timeframe))
    return { coin, timeframes: TIMEFRAMES.filter((timeframe) => has.has(timeframe)) }
  })
}
