import { z } from 'zod'
import { exchangeSchema } from './exchanges.ts'
import { LIMITS } from './limits.ts'
import { coinSchema } from './series.ts'

/** One coin of a venue with what it is ranked by. */
export const universeEntrySchema = z.object({
  coin: coinSchema,
  /** Traded in the last 24 hours, in the quote currency. */
  quoteVolume24h: z.number().nonnegative(),
  /** Open interest in the quote currency; null where the venue does not say. */
  openInterest: z.number().nonnegative().nullable(),
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
