import { z } from 'zod'

/**
 * The global order of events: opaque to callers, comparable, resumable. `"17"` in the embedded store,
 * `"commit/prepare"` in EventStoreDB; a log only ever holds one kind.
 */
export type Position = string

/** Before the first event of a log. */
export const START: Position = 'start'

/** Without leading zeros, so that a place has one text and the longer number is the larger. */
const POSITION = /^(?:start|(?:0|[1-9]\d{0,19})(?:\/(?:0|[1-9]\d{0,19}))?!?)$/

export const isPosition = (value: string): value is Position => POSITION.test(value)

export const positionSchema = z.string().regex(POSITION, 'must be a position of the log')

/**
 * A place just before an event, after all others: where an event says two things, it stands between them. A
 * reading after it begins with that event.
 *
 * @example comparePositions(inFrontOf('17'), '17') < 0 && comparePositions(inFrontOf('17'), '16') > 0
 */
export const inFrontOf = (position: Position): Position => `${position}!`

/** The event that a place is at or just in front of. */
export const eventAt = (position: Position): Position =>
  position.endsWith('!') ? position.slice(0, -1) : position

/** Negative when `a` comes before `b`, 0 when they are the same, positive when it comes after. */
export function comparePositions(a: Position, b: Position): number {
  if (a === b) return 0
  if (a === START) return -1
  if (b === START) return 1
  if (a.endsWith('!') || b.endsWith('!')) {
    return comparePositions(eventAt(a), eventAt(b)) || (b.endsWith('!') ? 1 : 0) - (a.endsWith('!') ? 1 : 0)
  }
  // Compared for every event and row of a replay, so nothing is cut into parts. Numbers have no leading zeros.
  const aCommit = a.indexOf('/')
  const bCommit = b.indexOf('/')
  if (aCommit !== bCommit) return aCommit - bCommit
  if (a.length !== b.length && a.startsWith(b.slice(0, bCommit + 1))) return a.length - b.length
  return a < b ? -1 : 1
}

/** The later of two positions; the first where they are the same. @example later('9', '17') === '17' */
export const later = (one: Position, other: Position): Position =>
  comparePositions(one, other) < 0 ? other : one

/** The earlier of two positions. @example earlier('9', '17') === '9' */
export const earlier = (one: Position, other: Position): Position => (later(one, other) === one ? other : one)
