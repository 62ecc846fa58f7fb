import { decodeEvent } from '../../contracts/event-catalogue.ts'
import type { Exchange } from '../../contracts/exchanges.ts'
import type { Position } from '../../contracts/position.ts'
import type { Coin } from '../../contracts/series.ts'
import type { Timeframe } from '../../contracts/timeframes.ts'
import type { Call, Verdict } from '../../contracts/verdict.ts'
import { type VerdictRow, verdictRow } from '../../contracts/verdict-row.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import { createLook, formatCursor, type ReplayCursor } from './replay-cursor.ts'

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

export interface ReplayOptions {
  readonly filter: ReplayFilter
  readonly after: ReplayCursor
  /** The log as it was: a position, or the instant up to which events had been appended. */
  readonly upTo?: Position | Date
  readonly limit: number
  /** Market time, Unix milliseconds: verdicts whose window closes later are withheld. Infinity shows all. */
  readonly now: number
  readonly signal: AbortSignal
}

/**
 * Recorded verdicts in the order of the log. Verdicts whose window is still open are what callers pay for, so
 * they are withheld until it closes; a cursor behind any row resumes without loss or repeat.
 */
export async function* replayVerdicts(
  store: EventStore,
  options: ReplayOptions,
): AsyncGenerator<VerdictRow, void, void> {
  const { filter, limit, signal } = options
  const upTo = options.upTo ?? (await store.head())
  let left = limit
  for (let from: ReplayCursor | undefined = options.after; from !== undefined; ) {
    const look = createLook(from, options.now)
    const events = store.readAll({ after: look.readAfter, upTo, filter: storeFilter(filter), signal })
    for await (const recorded of events) {
      const event = decodeEvent(recorded)
      if (event.type !== 'VerdictRecorded' || !matches(filter, event.data)) continue
      const cursor = look.offer(event.position, event.data.validUntil)
      if (cursor === undefined) continue
      yield verdictRow(event.data, formatCursor(cursor), event.at)
      left -= 1
      if (left === 0) return
    }
    from = from.second === undefined || signal.aborted ? undefined : look.end()
  }
}

/** What the store can sort out by itself: types, and streams by exchange and coin. */
function storeFilter({ exchanges, coins }: ReplayFilter) {
  const types = ['VerdictRecorded']
  if (exchanges === undefined) return { types }
  const markets = coins === undefined ? exchanges.map((exchange) => `${exchange}.`) : []
  for (const exchange of exchanges) for (const coin of coins ?? []) markets.push(`${exchange}.${coin}.`)
  return { types, streamPrefixes: markets.map((market) => `verdict-${market}`) }
}

function matches(filter: ReplayFilter, verdict: Verdict): boolean {
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
