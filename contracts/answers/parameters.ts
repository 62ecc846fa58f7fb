import { z } from 'zod'
import { canonicalTimeframe, coinOfName } from '../domain/common-names.ts'
import { EXCHANGES } from '../domain/series.ts'
import { TIMEFRAMES } from '../domain/timeframes.ts'
import { textOrNull } from '../infra/field-schemas.ts'
import { outsideList } from '../infra/input-faults.ts'
import { LIMITS } from '../limits.ts'

/** The cursor of a list's next page, as an answer names it. It becomes part of an address, so it has a shape. */
export const cursorSchema = z.string().regex(/^[\w.~-]{1,256}$/)

/** The cursor of the next page of a list. */
export const nextSchema = textOrNull.describe('Give it as `after` for the rows after these; null at the end')

const offset = true
const EXACT = z.union([z.iso.datetime({ offset }), z.iso.datetime({ offset, precision: -1 })])
const INSTANT = z.union([EXACT, z.iso.date()])
const WITHOUT_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/

/** Whether a text is an ISO 8601 instant with its zone, or a date, which begins in UTC. */
export const isInstant = (text: string): boolean => INSTANT.safeParse(text).success

/**
 * Why a text is no instant. One without a zone would be of the time zone of whichever machine reads it.
 *
 * @example instantFault('2026-11-26T00:00') // 'has no zone: add Z, as in 2026-11-26T00:00Z, or an offset as +02:00'
 */
export const instantFault = (text: string, otherwise = 'must be an ISO 8601 instant or date'): string =>
  WITHOUT_ZONE.test(text) ? `has no zone: add Z, as in ${text}Z, or an offset as +02:00` : otherwise

const checked = (isSound: (text: string) => boolean, otherwise?: string) =>
  z.string().refine(isSound, { error: ({ input }) => instantFault(String(input), otherwise) })

/** An instant as {@link isInstant} says, as text. */
export const instantParameter = checked(isInstant)

/** An instant with its zone, and no date. */
export const exactInstantParameter = checked(
  (text) => EXACT.safeParse(text).success,
  'must be an ISO 8601 instant',
)

/** An instant, a date, or Unix milliseconds; read as the last. */
export const timeParameter = checked(
  (text) => /^\d{1,14}$/.test(text) || isInstant(text),
  'must be an ISO 8601 instant or date, or Unix milliseconds',
).transform((text) => (/^\d+$/.test(text) ? Number(text) : Date.parse(text)))

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

/** The `next` of an answer, of this form. */
export const pageCursor = (form: RegExp, rows = 'Rows after these') =>
  z
    .string()
    .regex(form, 'must be the `next` of an answer')
    .describe(`${rows}: the \`next\` of the answer before`)

/** A key of a read model as a cursor, so that callers need not know what it is made of. */
export const keyCursorParameter = pageCursor(/^[A-Za-z0-9_-]{1,256}$/)
  .transform((text) => Buffer.from(text, 'base64url').toString('utf8'))
  .optional()

/** @param key undefined at the end of a list */
export const keyCursor = (key: string | null | undefined): string | null =>
  key === undefined || key === null ? null : Buffer.from(key).toString('base64url')
