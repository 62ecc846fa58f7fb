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

/** How many rows an answer may have at most. */
export const rowsParameter = (most: number, usual = most, of = 'Rows') =>
  z.coerce.number().int().min(1).max(most).default(usual).describe(`${of} at most`)

/** A key of a read model as a cursor, so that callers need not know what it is made of. */
export const keyCursorParameter = z
  .string()
  .max(256)
  .regex(/^[A-Za-z0-9_-]+$/, 'must be the `next` of an answer')
  .transform((text) => Buffer.from(text, 'base64url').toString('utf8'))
  .optional()
  .describe('Rows after these: the `next` of the answer before')

/** @param key undefined at the end of a list */
export const keyCursor = (key: string | null | undefined): string | null =>
  key === undefined || key === null ? null : Buffer.from(key).toString('base64url')
