import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'

/** What an event counts as, and how many such events one hour of a stream takes; `Infinity` for those that always pass. */
export interface HourlyLimit {
  readonly kind: string
  readonly perHour: number
}

/** How many events of each kind the newest hour of a stream has. */
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
  const { kind, perHour } = limitOf(event)
  if (perHour === Number.POSITIVE_INFINITY) return before
  const hour = Math.floor(at / HOUR_MS)
  // A clock that was set back begins no new hour.
  const counts = new Map(hour > before.hour ? [] : before.counts)
  return { hour: Math.max(hour, before.hour), counts: counts.set(kind, (counts.get(kind) ?? 0) + 1) }
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
      message: `This hour has taken ${perHour} events ${event.type} here, as many as one hour takes; nothing was recorded. The next is taken in ${seconds} s.`,
      details: { event: event.type, limit: perHour, retry_after_s: seconds },
    })
  }
}
