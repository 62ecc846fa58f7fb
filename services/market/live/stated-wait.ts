import { LIMITS } from '../../../contracts/limits.ts'
import { retryAfterMs } from '../../runtime/http/retry-after.ts'
import { toMilliseconds } from '../instant-unit.ts'

/** Other headers by which venues say when they may be asked again: an instant, or a time in units of so many ms. */
const RESETS: readonly (readonly [RegExp, number])[] = [
  [/^x-(bapi-limit|gate-ratelimit)-reset-timestamp$/, 1],
  [/^(gw-)?ratelimit-reset$/, 1],
  [/^x-ratelimit-retry-after/, 1_000],
]

/**
 * How long a venue asks to be left alone, wherever its answer says so; a day at most. Undefined where it does not.
 *
 * @param now by the venue's clock, Unix milliseconds
 */
export function statedWaitMs(text: string, now: number, headers = new Headers()): number | undefined {
  const usual = retryAfterMs(headers.get('retry-after'), now, LIMITS.venueRetryAfterMs)
  if (usual !== undefined) return usual
  const inText = /\b(?:until|after)\W{0,3}(\d{10,19})\b/.exec(text)?.[1]
  const [waitMs = Number.NaN] = [
    Number(inText),
    ...RESETS.flatMap(([name, unitMs]) =>
      [...headers].flatMap(([header, value]) => (name.test(header) ? Number(value) * unitMs : [])),
    ),
  ]
    .filter((value) => value >= 0)
    .map((value) => (toMilliseconds(value)?.ms ?? now + value) - now)
  return waitMs >= 0 ? Math.min(waitMs, LIMITS.venueRetryAfterMs) : undefined
}
