import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'

/** What an event counts as, and how much of that one hour of a stream takes. */
export interface HourlyLimit {
  /** As callers read it, in the plural. */
  readonly kind: string
  /** `Infinity` for what always passes. */
  readonly perHour: number
  /** How many it counts for; one without it. */
  readonly weight?: number
}

/** How much of each kind the newest hour of a stream has. */
export interface HourlyCounts {
  /** Hours since 1970. */
  readonly hour: number
  readonly counts: ReadonlyMap<string, number>
}

type Countable = Pick<NewEvent, 'type' | 'data'>
export type LimitOf = (event: Countable) => HourlyLimit

export const NO_COUNTS: HourlyCounts = { hour: 0, counts: new Map() }

/** @param at when the event was recorded, Unix milliseconds */
export function countEvent(
  before: HourlyCounts,
  event: Countable,
  at: number,
  limitOf: LimitOf,
): HourlyCounts {
  const { kind, perHour, weight = 1 } = limitOf(event)
  if (perHour === Number.POSITIVE_INFINITY) return before
  const hour = Math.floor(at / HOUR_MS)
  // A clock that was set back begins no new hour.
  const counts = new Map(hour > before.hour ? [] : before.counts)
  return { hour: Math.max(hour, before.hour), counts: counts.set(kind, (counts.get(kind) ?? 0) + weight) }
}

/**
 * Refuses events that a stream takes no more of within this hour.
 *
 * @throws ServiceError `rate_limited` with `details.retry_after_s`
 */
export function requireWithinHour(
  before: HourlyCounts,
  events: readonly Countable[],
  now: number,
  limitOf: LimitOf,
): void {
  let after = before
  for (const event of events) {
    after = countEvent(after, event, now, limitOf)
    const { kind, perHour } = limitOf(event)
    if ((after.counts.get(kind) ?? 0) <= perHour) continue
    const seconds = Math.max(1, Math.ceil(((after.hour + 1) * HOUR_MS - now) / 1_000))
    throw new ServiceError('rate_limited', {
      message: `One hour takes ${perHour} ${kind} here, and this one has no room for more; nothing was recorded. The next hour begins in ${seconds} s.`,
      details: { kind, limit: perHour, retry_after_s: seconds },
    })
  }
}
