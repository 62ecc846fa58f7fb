import type { Exchange, Series } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { BoardEntry } from '../../engine/index.ts'
import type { Component } from '../../http/routes/health.ts'
import type { MarketFeed } from '../../market/index.ts'

/** The states of the monitored series of a venue; they add up to `monitored`. */
export interface MonitoredCounts {
  readonly exchange: Exchange
  readonly monitored: number
  /** Their newest bar came in time, or their market has an end. */
  readonly fresh: number
  readonly stale: number
  /** Closed because of a fault of their own, until they are tried again. */
  readonly closed: number
  /** Their history is still coming. */
  readonly loading: number
}

interface MonitoredSources {
  readonly isClosed: (series: Series) => boolean
  readonly entryOf: (series: Series) => BoardEntry | undefined
  /** Whether a bar can be late at all: those of a recorded market come when they are read. */
  readonly hasPresent: boolean
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  /** Beyond its bar's length, how late a series' newest bar may be; milliseconds of market time. */
  readonly staleAfterMs: number
}

/** Counts series by venue, in the order in which the venues come. */
export function countMonitored(series: readonly Series[], sources: MonitoredSources): MonitoredCounts[] {
  const now = sources.clock()

  function stateOf(one: Series): Exclude<keyof MonitoredCounts, 'exchange' | 'monitored'> {
    if (sources.isClosed(one)) return 'closed'
    const entry = sources.entryOf(one)
    if (entry?.isLive !== true) return 'loading'
    const age = now - (entry.barClose ?? Number.NEGATIVE_INFINITY)
    return sources.hasPresent && age > timeframeMs(one.timeframe) + sources.staleAfterMs ? 'stale' : 'fresh'
  }

  return [...Map.groupBy(series, ({ exchange }) => exchange)].map(([exchange, own]) => {
    const counts = { fresh: 0, stale: 0, closed: 0, loading: 0 }
    for (const one of own) counts[stateOf(one)] += 1
    const { fresh, stale, closed, loading } = counts
    assert(fresh + stale + closed + loading === own.length, 'each monitored series is in one state')
    return { exchange, monitored: own.length, ...counts }
  })
}

/** The state of the engine over a market. */
export interface MarketState {
  /** The reason why verdicts or outcomes are not recorded at the moment. */
  readonly problem: string | undefined
  /** Close of the newest bar, Unix milliseconds; undefined while history warms the series up. */
  readonly lastBarClose: number | undefined
  /** Age of the newest bar past which it is late, in milliseconds of market time. */
  readonly lateAfterMs: number
  readonly monitored: readonly MonitoredCounts[]
  /** Exchanges of which nothing is followed yet, because they have not said what they have. */
  readonly pending: readonly Exchange[]
  /** Whether callers are still kept out until the first bar. */
  readonly isAwaited: boolean
}

/**
 * Whether bars come as they close, of all that is monitored. Until the history of a first series has been read, calls
 * wait for it, so that nobody is to be sent here yet; a venue that is unavailable for longer keeps nobody from the
 * others. In a simulated market the past of others may still be computed: a call brings that of its series forward.
 */
export function marketComponent(
  feed: Pick<MarketFeed, 'kind' | 'clock' | 'progress'>,
  { problem, lastBarClose, lateAfterMs, monitored, pending, isAwaited }: MarketState,
): Component {
  const hasPresent = feed.kind !== 'recorded'
  const ageMs = lastBarClose === undefined ? undefined : Math.max(0, feed.clock() - lastBarClose)
  const past = feed.kind === 'simulated' ? feed.progress() : undefined
  const isInPast = past !== undefined && past.barsDone < past.barsTotal
  const isStale = hasPresent && (ageMs === undefined || ageMs > lateAfterMs)
  const isWarmingUp = isAwaited && hasPresent && ageMs === undefined && problem === undefined
  const age =
    ageMs === undefined
      ? 'warming up, no bar yet'
      : `newest bar closed ${Math.round(ageMs / 1_000)} s ago in market time`
  const missing = [
    ...monitored.flatMap(({ exchange, monitored: all, stale, closed }) =>
      closed > 0 || (stale > 0 && !isInPast)
        ? [`${exchange}: ${stale} of ${all} series stale, ${closed} closed`]
        : [],
    ),
    ...pending.map((exchange) => `${exchange}: nothing followed, for it has not said what it has`),
  ]
  const computed = isInPast ? [`${past.barsDone} of ${past.barsTotal} bars of the past are computed`] : []
  const isDegraded = problem !== undefined || isStale || missing.length > 0
  return {
    name: 'market',
    isRequired: isWarmingUp,
    state: isWarmingUp ? 'failed' : isDegraded ? 'degraded' : 'ok',
    detail: `${feed.kind}: ${[problem ?? age, ...computed, ...missing].join('; ')}`,
    more: {
      data_age_ms: ageMs ?? null,
      past: isInPast ? { computed: past.barsDone, of: past.barsTotal } : null,
    },
  }
}

/** Each venue of the market, with the reason why its coins are not ranked anew. */
export const venueComponents = (
  feed: Pick<MarketFeed, 'venues'>,
  rankingProblem: (exchange: Exchange) => string | undefined,
): Component[] =>
  feed.venues().map(({ exchange, state, detail }) => {
    const problem = rankingProblem(exchange)
    return {
      name: `venue ${exchange}`,
      isRequired: false,
      state: state === 'ok' && problem !== undefined ? 'degraded' : state,
      detail: problem === undefined ? detail : `${detail}; ranking: ${problem}`,
    }
  })
