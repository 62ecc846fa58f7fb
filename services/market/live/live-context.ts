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
  /** The history of a leg will come late. */
  leftBehind(leg: BarLeg): void
  /** The history of a leg cannot be loaded: its series begin at the seam. */
  givenUp(leg: BarLeg): void
  /** The market of a leg is gone, as far as anybody can tell. */
  ended(leg: BarLeg): void
  /** It is traded again. */
  resumed(leg: BarLeg): void
}
