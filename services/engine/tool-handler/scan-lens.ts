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

/** Where either direction is as telling as the other. */
const EITHER_WAY: ReadonlySet<LensName> = new Set<LensName>(['funding', 'open_interest_change'])

/** @throws ServiceError those of the store */
export async function openLens(
  name: LensName,
  { exchange }: Pick<Universe, 'exchange'>,
  { fundingOf, dayBefore }: LensSources,
): Promise<Lens> {
  const before = name === 'open_interest_change' ? await dayBefore(exchange) : undefined
  const interests = new Map(before?.coins.map(({ coin, openInterest }) => [coin, openInterest]))
  const changeOf: Lens['valueOf'] = ({ entry: { change24h } }) => change24h
  const noChange = `${exchange} does not say their price of 24 hours before`
  const noInterest = `${exchange} does not say their open interest`
  const [valueOf, reason]: readonly [Lens['valueOf'], string] = {
    funding: [
      ({ entry: { coin } }: Seen) => fundingOf({ exchange, coin }),
      'no settlement of late is known here; those of coins that are followed are read',
    ] as const,
    gainers: [changeOf, noChange] as const,
    losers: [changeOf, noChange] as const,
    volume: [({ entry }: Seen) => entry.quoteVolume24h, ''] as const,
    open_interest: [({ entry }: Seen) => entry.openInterest, noInterest] as const,
    volatility: [({ metrics }: Seen) => metrics?.atrPercent ?? null, 'their ATR is not known here'] as const,
    open_interest_change: [
      ({ entry: { coin, openInterest: now } }: Seen) => {
        const then = interests.get(coin) ?? 0
        return now === null || then === 0 ? null : now / then - 1
      },
      `${noInterest}, or the log has no ranking of a day before`,
    ] as const,
  }[name]
  return {
    valueOf,
    sizeOf(seen) {
      const value = valueOf(seen)
      if (value === null) return Number.NEGATIVE_INFINITY
      return EITHER_WAY.has(name) ? Math.abs(value) : name === 'losers' ? -value : value
    },
    reason,
  }
}

/** Why values are null, where some are. */
export function lensNote(lens: Lens | undefined, found: readonly Seen[]): string | null {
  const unknown = lens === undefined ? 0 : found.filter((seen) => lens.valueOf(seen) === null).length
  return lens === undefined || unknown === 0
    ? null
    : `Of ${unknown} of ${found.length} coins \`lens_value\` is null: ${lens.reason}.`
}
