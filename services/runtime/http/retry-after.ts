/** `IMF-fixdate` (RFC 9110 §5.6.7); nobody sends the two older forms of a date any more. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** `delay-seconds = 1*DIGIT` (RFC 9110 §10.2.3). */
const DELAY_SECONDS = /^\d+$/

/** Milliseconds for which a server's `Retry-After` asks to be left alone, at most so many; undefined where it cannot be read. */
export function retryAfterMs(
  value: string | readonly string[] | null | undefined,
  now: number,
  mostMs: number,
): number | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  const waitMs = DELAY_SECONDS.test(text)
    ? Number(text) * 1_000
    : HTTP_DATE.test(text)
      ? Date.parse(text) - now
      : Number.NaN
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), mostMs)
}
