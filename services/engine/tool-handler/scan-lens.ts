import type { Exchange } from '../../../contracts/exchanges.ts'
import type { Market } from '../../../contracts/series.ts'
import type { ScanTradeCallsRequest } from '../../../contracts/tools/scan-trade-calls.ts'
import type { Universe, UniverseEntry } from '../../../contracts/universe.ts'
import type { MarketMetrics } from '../engine.ts'

type LensName = NonNullable<ScanTradeCallsRequest['lens']>

/** A coin of the universe, with what its bars measured once they are read. */
export interface Seen {
  readonly entry: UniverseEntry
  readonly metrics?: Pick<MarketMetrics, 'atrPercent'> | undefined
}

/** The figures of lenses beside those that a ranking of the exchange has. */
export interface LensSources {
  /** The newest settled rate of a market as a yearly fraction; null where none is known, or it is too old. */
  readonly fundingOf: (market: Market) => number | null
  /** The ranking of a day before the newest; undefined where there is none. */
  readonly dayBefore: (exchange: Exchange) => Promise<Universe | undefined>
}

/** A figure by which a scan takes coins and ranks rows. */
export interface Lens {
  /** Null where it is not known. */
  readonly valueOf: (seen: Seen) => number | null
  /** By how much it comes first; what is not known comes last. */
  readonly sizeOf: (seen: Seen) => number
  /** Why it may not be known. */
  readonly reason: string
}

/** @throws ServiceError those of the store */
export async function openLens(
  name: LensName,
  { exchange }: Pick<Universe, 'exchange'>,
  { fundingOf, dayBefore }: LensSources,
): Promise<Lens> {
  const before = name === 'open_interest_change' ? await dayBefore(exchange) : undefined
  const interests = new Map(before?.coins.map(({ coin, openInterest }) => [coin, openInterest]))
  const valueOf = ({ entry, metrics }: Seen): number | null => {
    if (name === 'funding') return fundingOf({ exchange, coin: entry.coin })
    if (name === 'volatility') return metrics?.atrPercent ?? null
    if (name === 'volume') return entry.quoteVolume24h
    if (name === 'gainers' || name === 'losers') return entry.change24h
    const { openInterest: now } = entry
    if (name === 'open_interest' || now === null) return now
    const then = interests.get(entry.coin) ?? 0
    return then === 0 ? null : now / then - 1
  }
  return {
    valueOf,
    sizeOf(seen) {
      const value = valueOf(seen)
      if (value === null) return Number.NEGATIVE_INFINITY
      // Either direction of these is as telling as the other.
      if (name === 'funding' || name === 'open_interest_change') return Math.abs(value)
      return name === 'losers' ? -value : value
    },
    reason: REASONS[name].replace('VENUE', exchange),
  }
}

const NO_CHANGE = 'VENUE does not say their price of 24 hours before'
const REASONS: Readonly<Record<LensName, string>> = {
  funding: 'no settlement of late is known here; those of coins that are followed are read',
  gainers: NO_CHANGE,
  losers: NO_CHANGE,
  volume: '',
  open_interest: 'VENUE does not say their open interest',
  volatility: 'their ATR is not known here',
  open_interest_change: 'VENUE does not say their open interest, or the log has no ranking of a day before',
}

/** Why values are null, where some are. */
export function lensNote(lens: Lens | undefined, found: readonly Seen[]): string | null {
  const unknown = lens === undefined ? 0 : found.filter((seen) => lens.valueOf(seen) === null).length
  return lens === undefined || unknown === 0
    ? null
    : `Of ${unknown} of ${found.length} coins \`lens_value\` is null: ${lens.reason}.`
}
