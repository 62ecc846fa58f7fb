import type { Clock } from '../../runtime/async/clock.ts'
import type { BarLeg } from './bar-leg.ts'
import type { Venue } from './venue.ts'

/** The context that the parts of a live feed share: clock and reports. */
export interface LiveContext extends Pick<Clock, 'now'> {
  /** Ends after some milliseconds, or when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** From 0 up to 1. */
  readonly random: () => number
  /** A request failed; it will be made again. */
  failed(venue: Venue, error: unknown): void
  /** Something the operator should know of a leg: `notice(leg, 'goes on')`. */
  notice(leg: BarLeg, message: string): void
}
