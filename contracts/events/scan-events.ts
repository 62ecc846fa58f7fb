import { z } from 'zod'
import { coinSchema, exchangeSchema } from '../domain/series.ts'
import { CADENCES } from '../domain/subscription.ts'
import { timeframeSchema } from '../domain/timeframes.ts'
import { callSchema, regimeSchema } from '../domain/verdict.ts'
import { percent, timeMs } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { defineEvent } from './event-definition.ts'

/** One call of a digest. Where it can be looked up follows from its verdict's id, so no address is kept. */
export const digestRowSchema = z.object({
  rank: z.int().positive(),
  coin: coinSchema,
  call: callSchema,
  confidence: percent,
  strength: percent,
  regime: regimeSchema,
  price: z.number().positive(),
  barClose: timeMs,
  validUntil: timeMs,
  verdictId: z.uuid(),
})

export const ScanCompleted = defineEvent('ScanCompleted', 'scan-{exchange}.{timeframe}', {
  summary: 'The ranked calls of an exchange and timeframe for one digest period, recorded once per period.',
  data: z.object({
    scanId: z.uuid(),
    exchange: exchangeSchema,
    timeframe: timeframeSchema,
    cadence: z.enum(CADENCES),
    /** Market time at which the period began, aligned to UTC; the scan was made shortly after. */
    boundary: timeMs,
    /** Market time of the scan. */
    completedAt: timeMs,
    /** Coins with a fresh verdict, and how many of them say HOLD. */
    scanned: z.int().nonnegative(),
    holds: z.int().nonnegative(),
    /** By strength, best first; BUY and SELL only. */
    calls: z.array(digestRowSchema).max(LIMITS.scanCoins),
  }),
})
