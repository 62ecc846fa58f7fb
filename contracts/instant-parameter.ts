import { z } from 'zod'

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
