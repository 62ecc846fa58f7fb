import { z } from 'zod'
import { type Exchange, exchangeSchema } from './exchanges.ts'
import { LIMITS } from './limits.ts'
import { coinSchema } from './series.ts'

/** One coin of a venue with what it is ranked by. */
export const universeEntrySchema = z.object({
  coin: coinSchema,
  /** Traded in the last 24 hours, in the quote currency. */
  quoteVolume24h: z.number().nonnegative(),
  /** Price change over the last 24 hours, as a fraction of the price then; null where it is not known. */
  change24h: z.number().min(-1).nullable(),
})

export type UniverseEntry = z.infer<typeof universeEntrySchema>

/** The coins of a venue at an instant, by 24-hour quote volume, largest first. */
export const universeSchema = z.object({
  exchange: exchangeSchema,
  /** Market time at which it was ranked, Unix milliseconds. */
  rankedAt: z.int().nonnegative(),
  coins: z.array(universeEntrySchema).max(LIMITS.universeCoins),
})

export type Universe = z.infer<typeof universeSchema>

/** By 24-hour quote volume, largest first; equal ones by name, so that a ranking is the same every time. */
export const byQuoteVolume = (a: UniverseEntry, b: UniverseEntry): number =>
  b.quoteVolume24h - a.quoteVolume24h || (a.coin < b.coin ? -1 : a.coin > b.coin ? 1 : 0)

/**
 * Ranks the coins of a venue and keeps the largest.
 *
 * @param rankedAt market time, Unix milliseconds
 * @example rankUniverse('SIM', now, entries).coins[0] // the coin with the largest turnover
 */
export const rankUniverse = (
  exchange: Exchange,
  rankedAt: number,
  entries: readonly UniverseEntry[],
): Universe => ({ exchange, rankedAt, coins: entries.toSorted(byQuoteVolume).slice(0, LIMITS.universeCoins) })
