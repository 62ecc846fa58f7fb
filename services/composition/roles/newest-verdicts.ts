import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { outcomeStream, verdictStream } from '../../../contracts/events/streams.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { latestVerdicts } from '../../../projections/index.ts'
import type { MarketsSource } from '../../http/routes/markets.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { ProjectionReader, Projector } from '../../log/projector/projector.ts'
import type { MarketFeed, WatchList } from '../../market/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'

const PAGE_ROWS = 500

/** The rows of a read model whose keys begin so, in the order of their keys. */
export function* allRows<Row extends JsonObject>(
  reader: Pick<ProjectionReader<Row>, 'range'>,
  prefix = '',
): Generator<Row, void, undefined> {
  for (let after = ''; ; ) {
    const page = reader.range({ prefix, limit: PAGE_ROWS, ...(after && { after }) })
    for (const { row } of page) yield row
    const last = page.at(-1)?.key
    if (last === undefined || page.length < PAGE_ROWS) return
    assert(last !== after, 'a page of rows follows the one before it', last)
    after = last
  }
}

/** The newest verdict of every series in the log, by the name of the series. */
export function* newestVerdicts(projector: Projector): Generator<Verdict, void, undefined> {
  for (const { verdict } of allRows(projector.reader(latestVerdicts))) yield verdict
}

/**
 * Market time for readers: never earlier than it was before in this process, nor, in a recorded market, than the newest
 * bar that a former run recorded. A replay that starts over would otherwise hide verdicts that were shown.
 */
export function createMarketNow(
  { MARKET, ROLES }: Pick<Settings, 'MARKET' | 'ROLES'>,
  feed: Pick<MarketFeed, 'clock'>,
  projector: Projector | undefined,
): () => number {
  // A recorded market that is replayed elsewhere has no clock here; all of it lies in the past.
  if (MARKET === 'recorded' && !ROLES.includes('engine')) return Date.now
  let latest = Number.NEGATIVE_INFINITY
  let former = MARKET === 'recorded' ? projector : undefined
  return () => {
    // Read once: what this run records is no later than its own clock.
    if (former?.reader(latestVerdicts).health().state === 'live') {
      for (const { barClose } of newestVerdicts(former)) latest = Math.max(latest, barClose)
      former = undefined
    }
    latest = Math.max(latest, feed.clock())
    return latest
  }
}

/** The log. If its store cannot list the streams of verdicts and outcomes, a read model does, as far as it has come. */
export function withVerdictStreams(store: EventStore, projector: Projector | undefined): EventStore {
  if (store.streams !== undefined || projector === undefined) return store
  return {
    ...store,
    streams(prefix) {
      const { state, position: upTo } = projector.reader(latestVerdicts).health()
      if (state !== 'live') return undefined
      const streamOf = prefix.startsWith('outcome-') ? outcomeStream : verdictStream
      const names = [...newestVerdicts(projector)].map(streamOf)
      return { names: names.filter((name) => name.startsWith(prefix)), upTo }
    },
  }
}

export interface MarketsSourceParts {
  readonly feed: MarketFeed
  readonly projector: Projector | undefined
  readonly watchList: WatchList | undefined
  readonly engine: { newestBar(series: Series): number | undefined } | undefined
}

/**
 * The markets that this process knows: the feed lists them, the board and the watch list of the engine say how fresh
 * they are. Without the engine role both follow from the verdicts recorded last, as far as this process has that read
 * model.
 */
export function createMarketsSource(parts: MarketsSourceParts): MarketsSource {
  const { feed, projector, engine, watchList } = parts
  const recordedBar = (series: Series) =>
    projector?.reader(latestVerdicts).get(seriesName(series))?.verdict.barClose

  return {
    async markets() {
      const recorded = projector === undefined ? [] : newestVerdicts(projector)
      return withSeries(await feed.listings(), watchList?.series() ?? recorded)
    },
    newestBar: (series) => engine?.newestBar(series) ?? recordedBar(series),
    isRecorded(exchange, coin) {
      const reader = projector?.reader(latestVerdicts)
      if (reader?.health().state !== 'live') return undefined
      const prefix = coin === undefined ? `${exchange}.` : `${exchange}.${coin}.`
      return reader.range({ prefix, limit: 1 }).length > 0
    },
    isMonitored: (series) => watchList?.has(series),
    clock: () => feed.clock(),
  }
}

type Markets = Awaited<ReturnType<MarketsSource['markets']>>

/** The listed markets, and the followed series that no listing names. */
export function withSeries(listed: Markets, followed: Iterable<Series>): Markets {
  const series = listed.flatMap(({ timeframes, ...market }) =>
    timeframes.map((timeframe) => ({ ...market, timeframe })),
  )
  const markets = Map.groupBy([...series, ...followed], ({ exchange, coin }) => `${exchange}.${coin}`)
  return [...markets.values()].flatMap((own) => {
    const timeframes = new Set(own.map(({ timeframe }) => timeframe))
    const ordered = TIMEFRAMES.filter((timeframe) => timeframes.has(timeframe))
    return own.slice(0, 1).map(({ exchange, coin }) => ({ exchange, coin, timeframes: ordered }))
  })
}
