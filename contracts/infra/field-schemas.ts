import { z } from 'zod'

/** Unix milliseconds. */
export const timeMs = z.int().nonnegative()
export const count = z.int().nonnegative()
export const percent = z.int().min(0).max(100)
export const numberOrNull = z.number().nullable()
export const textOrNull = z.string().nullable()
/** In hexadecimal digits. */
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
export const instant = z.iso.datetime()
export const instantUtc = z.iso.datetime().describe('ISO 8601, UTC')
export const accountId = z.uuid()
export const paymentId = z.uuid()
export const reason = z.string().min(1).max(200)
/** Sealed under the key of the account's subject; the generation names that key. */
export const sealed = z.string().min(1).max(8_192)
