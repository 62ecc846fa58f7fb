import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Universe } from '../../../contracts/universe.ts'
import type { VenueTurnover } from './venue.ts'

/**
 * The coins of a venue by 24-hour quote volume, largest first, and by name where it is the same. A coin whose
 * volume the venue does not say counts as not traded.
 */
export function rankUniverse(exchange: Exchange, now: number, turnovers: readonly VenueTurnover[]): Universe {
  const coins = turnovers
    .map(({ coin, quoteVolume24h, openInterest, change24h }) => ({
      coin,
      quoteVolume24h: isAmount(quoteVolume24h) ? quoteVolume24h : 0,
      openInterest: isAmount(openInterest) ? openInterest : null,
      change24h: change24h >= -1 && Number.isFinite(change24h) ? change24h : null,
    }))
    .toSorted((a, b) => b.quoteVolume24h - a.quoteVolume24h || (a.coin < b.coin ? -1 : 1))
  return { exchange, rankedAt: now, coins: coins.slice(0, LIMITS.universeCoins) }
}

const isAmount = (value: number): boolean => value >= 0 && Number.isFinite(value)
