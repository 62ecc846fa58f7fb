import type { Coin, Exchange } from '../../../contracts/domain/series.ts'
import type { SubscriptionFilter } from '../../../contracts/domain/subscription.ts'
import type { Timeframe } from '../../../contracts/domain/timeframes.ts'
import { nearestName } from '../../../contracts/infra/input-faults.ts'

/** The signals that this service can send at all. */
export interface SignalCoverage {
  /** No signal is surer than this. */
  readonly highestConfidence: number
  /** Timeframes on which no call is ever made, because none was shown to have skill. */
  readonly silentTimeframes: readonly Timeframe[]
  /** Why calls at a timeframe are withdrawn for now; undefined where they are not. */
  readonly withdrawn?: (timeframe: Timeframe) => string | undefined
  /** Exchanges that are monitored; undefined where that is not known. */
  readonly exchanges: readonly Exchange[] | undefined
  /** Coins that are monitored; none where that is not known. */
  readonly coins?: ReadonlySet<Coin>
}

/**
 * The parts of a filter that can never send anything, or have no effect, in words. Such a filter is accepted: the signals
 * that are sent may change.
 *
 * @example filterWarnings(filter, reach) // ['min_confidence: 75 is more than the 60 that …']
 */
export function filterWarnings(filter: SubscriptionFilter, coverage: SignalCoverage): string[] {
  const asksFor = (...types: readonly string[]): boolean => filter.events.some((type) => types.includes(type))
  const warnings: string[] = []
  if (asksFor('trade_call', 'regime_shift')) {
    if (filter.minConfidence > coverage.highestConfidence) {
      warnings.push(
        `min_confidence: ${filter.minConfidence} is more than the ${coverage.highestConfidence} that any signal has, so no trade_call or regime_shift is sent`,
      )
    }
    warnings.push(...unmonitored('exchanges', filter.exchanges ?? [], coverage))
    warnings.push(...unknownCoins(filter.assets ?? [], coverage))
  } else if (hasSeriesFilter(filter)) {
    warnings.push(
      'timeframes, assets, exchanges, min_confidence: these are of trade_call and regime_shift, which are not among the events',
    )
  }
  if (asksFor('trade_call')) warnings.push(...silent('timeframes', filter.timeframes ?? [], coverage))
  else if (filter.minStrength > 0 || filter.onlyChanges) {
    warnings.push('min_strength, only_changes: these are of trade_call, which is not among the events')
  }
  if (filter.digest !== null) {
    warnings.push(...silent('timeframe', [filter.digest.timeframe], coverage))
    warnings.push(...unmonitored('exchange', [filter.digest.exchange], coverage))
  }
  return warnings
}

const hasSeriesFilter = ({ timeframes, assets, exchanges, minConfidence }: SubscriptionFilter): boolean =>
  timeframes !== null || assets !== null || exchanges !== null || minConfidence > 0

const silent = (field: string, asked: readonly Timeframe[], coverage: SignalCoverage): string[] =>
  asked.flatMap((timeframe) => {
    if (coverage.silentTimeframes.includes(timeframe))
      return `${field}: no call is made on ${timeframe}, where none was shown to have skill: every verdict is HOLD`
    const withdrawn = coverage.withdrawn?.(timeframe)
    return withdrawn === undefined
      ? []
      : `${field}: ${withdrawn}, and every verdict is HOLD until they are restored`
  })

const unmonitored = (field: string, asked: readonly Exchange[], { exchanges }: SignalCoverage): string[] =>
  exchanges === undefined
    ? []
    : asked
        .filter((exchange) => !exchanges.includes(exchange))
        .map((exchange) => `${field}: ${exchange} is not monitored here`)

const unknownCoins = (assets: readonly string[], { coins = new Set() }: SignalCoverage): string[] =>
  assets
    .filter((asset) => coins.size > 0 && !asset.startsWith('top:') && !coins.has(asset))
    .map((asset) => {
      const meant = nearestName(asset, coins)
      return `assets: ${asset} is not monitored here, so nothing of it is sent${meant === undefined ? '' : `; did you mean ${meant}?`}`
    })
