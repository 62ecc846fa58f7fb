import { z } from 'zod'
import { canonicalTimeframe, coinOfName } from './common-names.ts'
import { EXCHANGES } from './exchanges.ts'
import { LIMITS } from './limits.ts'
import { TIMEFRAMES } from './timeframes.ts'
import { outsideList } from './value-problems.ts'

/** A coin that a caller names, in either case, by its symbol or its name. */
export const coinParameter = z
  .string()
  .trim()
  .regex(new RegExp(`^[A-Za-z0-9]{1,${LIMITS.coinCharacters}}$`), {
    error: `must be a coin symbol, as BTC: letters and digits, at most ${LIMITS.coinCharacters}`,
  })
  .overwrite(coinOfName)
  .describe('Coin symbol, for example BTC')

/** A timeframe that a caller names. */
export const timeframeParameter = z
  .string()
  .overwrite(canonicalTimeframe)
  .meta({ description: 'Length of one bar; bars are aligned to UTC midnight', enum: [...TIMEFRAMES] })
  .pipe(z.enum(TIMEFRAMES, { error: outsideList }))

/** An exchange that a caller names, in either case. */
export const exchangeParameter = z
  .string()
  .trim()
  .toUpperCase()
  .meta({ description: 'Exchange code', enum: [...EXCHANGES] })
  .pipe(z.enum(EXCHANGES, { error: outsideList }))

const WHOLE = ({ code }: { readonly code: string }): string | undefined =>
  code === 'invalid_type' ? 'must be a whole number' : undefined

/** How many rows an answer may have at most. */
export const rowsParameter = (most: number, usual = most, of = 'Rows') =>
  z.coerce
    .number({ error: WHOLE })
    .int({ error: WHOLE })
    .min(1)
    .max(most)
    .default(usual)
    .describe(`${of} at most`)

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
