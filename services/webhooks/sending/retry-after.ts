import { LIMITS } from '../../../contracts/limits.ts'

/** `IMF-fixdate` (RFC 9110 §5.6.7); the two older forms of a date are not sent by anybody any more. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** `delay-seconds = 1*DIGIT` (RFC 9110 §10.2.3). */
const DELAY_SECONDS = /^\d+$/

/**
 * How long an endpoint asks to be left alone.
 *
 * @param value of the header; several of them say nothing that can be told
 * @param now Unix milliseconds
 * @returns milliseconds, at most `LIMITS.webhookRetryAfterMs`; undefined where it cannot be read.
 * @example retryAfterMs('120', now) === 120_000
 */
export function retryAfterMs(value: string | readonly string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  const waitMs = DELAY_SECONDS.test(text)
    ? Number(text) * 1_000
    : HTTP_DATE.test(text)
      ? Date.parse(text) - now
      : Number.NaN
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), LIMITS.webhookRetryAfterMs)
}

/** A number of seconds, with parts of them. */
const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/

/**
 * How long nothing more is taken, where what may be sent in a window is used up.
 *
 * @param remaining `X-RateLimit-Remaining`
 * @param resetAfter `X-RateLimit-Reset-After`, seconds
 * @returns milliseconds; undefined where there is room, or nothing can be read
 */
export function usedUpMs(
  remaining: string | readonly string[] | undefined,
  resetAfter: string | readonly string[] | undefined,
): number | undefined {
  if (remaining !== '0' || typeof resetAfter !== 'string' || !SECONDS.test(resetAfter)) return undefined
  return Math.min(Math.ceil(Number(resetAfter) * 1_000), LIMITS.webhookRetryAfterMs)
}
