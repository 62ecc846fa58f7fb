import { z } from 'zod'
import { EXCHANGES } from './exchanges.ts'
import { LIMITS } from './limits.ts'
import { isTimeframe, TIMEFRAMES } from './timeframes.ts'

/**
 * A timeframe as people write it: `1H` is 1h and `1D` 1d. `M` stays as it is: on exchanges it means months as often as
 * minutes.
 *
 * @example canonicalTimeframe('4H') === '4h' && canonicalTimeframe('1M') === '1M'
 */
export function canonicalTimeframe(text: string): string {
  const lower = text.trim().toLowerCase()
  return isTimeframe(lower) && !text.trim().endsWith('M') ? lower : text.trim()
}

/** A coin that a caller names, in either case. */
export const coinParameter = z
  .string()
  .trim()
  .regex(new RegExp(`^[A-Za-z0-9]{1,${LIMITS.coinCharacters}}$`), {
    error: `must be a coin symbol, as BTC: letters and digits, at most ${LIMITS.coinCharacters}`,
  })
  .toUpperCase()
  .describe('Coin symbol, for example BTC')

/** A timeframe that a caller names. */
export const timeframeParameter = z
  .string()
  .overwrite(canonicalTimeframe)
  .meta({ description: 'Length of one bar; bars are aligned to UTC midnight', enum: [...TIMEFRAMES] })
  .pipe(z.enum(TIMEFRAMES, { error: `must be one of ${TIMEFRAMES.join(', ')}` }))

/** An exchange that a caller names, in either case. */
export const exchangeParameter = z
  .string()
  .trim()
  .toUpperCase()
  .meta({ description: 'Exchange code', enum: [...EXCHANGES] })
  .pipe(z.enum(EXCHANGES, { error: `must be one of ${EXCHANGES.join(', ')}` }))
