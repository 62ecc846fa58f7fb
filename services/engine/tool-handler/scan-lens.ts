import type { Market, Universe, UniverseEntry } from '../../../contracts/domain/series.ts'
import type { ScanTradeCallsRequest } from '../../../contracts/tools/tool-schemas.ts'
import type { MarketMetrics } from '../engine.ts'

type LensName = NonNullable<ScanTradeCallsRequest['lens']>

/** A coin of the universe, with what its bars measured once they are read. */
export interface Seen {
  readonly entry: UniverseEntry
  readonly metrics?: Pick<MarketMetrics, 'atrPercent'> | undefined
}

/** The newest settled rate of a market as a yearly fraction; null where none is known, or it is too old. */
export type FundingOf = (market: Market) => number | null

/** A figure by which a scan takes coins and ranks rows. */
export interface Lens {
  /** Null where it is not known. */
  readonly valueOf: (seen: Seen) => number | null
  /** By how much it comes first; what is not known comes last. */
  readonly sizeOf: (seen: Seen) => number
  /** Why it may not be known. */
  readonly reason: string
}

export function openLens(
  name: LensName,
  { exchange }: Pick<Universe, 'exchange'>,
  fundingOf: FundingOf,
): Lens {
  const valueOf = ({ entry, metrics }: Seen): number | null => {
    if (name === 'funding') return fundingOf({ exchange, coin: entry.coin })
    if (name === 'volatility') return metrics?.atrPercent ?? null
    return name === 'volume' ? entry.quoteVolume24h : entry.change24h
  }
  return {
    valueOf,
    sizeOf(seen) {
      const value = valueOf(seen)
      if (value === null) return Number.NEGATIVE_INFINITY
      // Either direction is as telling as the other.
      if (name === 'funding') return Math.abs(value)
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
  volatility: 'their ATR is not known here',
}

/** Why values are null, where some are. */
export function lensNote(lens: Lens | undefined, found: readonly Seen[]): string | null {
  const unknown = lens === undefined ? 0 : found.filter((seen) => lens.valueOf(seen) === null).length
  return lens === undefined || unknown === 0
    ? null
    : `Of ${unknown} of ${found.length} coins \`lens_value\` is null: ${lens.reason}.`
}
