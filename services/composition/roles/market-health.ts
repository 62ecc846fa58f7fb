import type { Exchange } from '../../../contracts/domain/series.ts'
import type { Component } from '../../http/routes/health.ts'
import type { MarketFeed } from '../../market/index.ts'
import type { MonitoredCounts } from '../metrics/monitored-series.ts'

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
    ...monitored
      .filter(({ stale, closed }) => (isInPast ? 0 : stale) + closed > 0)
      .map(
        ({ exchange, monitored: all, stale, closed }) =>
          `${exchange}: ${stale} of ${all} series stale, ${closed} closed`,
      ),
    ...pending.map((exchange) => `${exchange}: nothing followed, for it has not said what it has`),
  ]
  const computed = isInPast
    ? [`${past.barsDone} of ${past.barsTotal} bars of the past have been computed`]
    : []
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
