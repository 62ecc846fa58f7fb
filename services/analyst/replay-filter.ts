import type { Exchange } from '../../contracts/exchanges.ts'
import type { Coin } from '../../contracts/series.ts'
import type { Timeframe } from '../../contracts/timeframes.ts'
import type { Call, Verdict } from '../../contracts/verdict.ts'
import type { EventFilter } from '../platform/event-store/event-store.ts'

/** Which verdicts a replay shows; a part that is absent matches everything. */
export interface ReplayFilter {
  readonly exchanges?: readonly Exchange[]
  readonly coins?: readonly Coin[]
  readonly timeframes?: readonly Timeframe[]
  readonly calls?: readonly Call[]
  /** Bar close, Unix milliseconds, inclusive. */
  readonly from?: number
  /** Bar close, Unix milliseconds, exclusive. */
  readonly to?: number
}

/** What the store can sort out by itself: types, and streams by exchange and coin. */
export function storeFilter({ exchanges, coins }: ReplayFilter): EventFilter {
  const types = ['VerdictRecorded']
  if (exchanges === undefined) return { types }
  const markets = coins === undefined ? exchanges.map((exchange) => `${exchange}.`) : []
  for (const exchange of exchanges) for (const coin of coins ?? []) markets.push(`${exchange}.${coin}.`)
  return { types, streamPrefixes: markets.map((market) => `verdict-${market}`) }
}

/** What the store cannot sort out, and the rest. */
export function matchesFilter(filter: ReplayFilter, verdict: Verdict): boolean {
  const { exchanges, coins, timeframes, calls, from = 0, to = Number.POSITIVE_INFINITY } = filter
  return (
    verdict.barClose >= from &&
    verdict.barClose < to &&
    (exchanges === undefined || exchanges.includes(verdict.exchange)) &&
    (coins === undefined || coins.includes(verdict.coin)) &&
    (timeframes === undefined || timeframes.includes(verdict.timeframe)) &&
    (calls === undefined || calls.includes(verdict.call))
  )
}
